package permissions

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// argvTools are the shells of Codex: what they run may be a list of words.
var argvTools = []string{"shell", "local_shell", "shell_command", "exec_command", "container.exec"}

// runKeys are the arguments of a tool that runs commands which change nothing about what runs.
var runKeys = []string{
	"command", "cmd", "workdir", "cwd", "directory", "dir_path", "timeout", "timeout_ms", "yield_time_ms", "max_output_tokens", "justification", "description", "tty", "login",
	"run_in_background", "is_background",
}

// unpacked is a call of a tool that runs commands with the line that it runs, where only its arguments say so, or where
// the line is a list of words: ["git", "status"], ["bash", "-lc", "git status"]; of a file tool it is [withPath]. odd says
// what cannot be told.
func unpacked(c Call) (call Call, odd string) {
	switch classOf(c.Tool) {
	case classRun:
	case classRead, classSearch, classEdit:
		return withPath(c)
	default:
		return c, ""
	}
	if words, ok := wordList([]byte(c.Command)); ok && slices.Contains(argvTools, c.Tool) {
		c.Command = lineOf(words, c.Foreign)
	}
	if c.Args == "" {
		return c, ""
	}
	line := c.Command // the arguments must say the same
	args, ok := arguments(c.Args)
	if !ok {
		return c, "its arguments cannot be read: give them as one JSON object"
	}
	odd = unknownKey(args, runKeys)
	given := 0
	for _, key := range []string{"command", "cmd"} {
		raw, there := args[key]
		if !there {
			continue
		}
		given++
		if words, ok := wordList(raw); ok {
			c.Command = lineOf(words, c.Foreign)
		} else if json.Unmarshal(raw, &c.Command) != nil {
			return c, "its command is neither a text nor a list of words"
		}
	}
	switch {
	case given > 1, given == 0 && line == "":
		return c, "it does not say one command"
	case line != "" && c.Command != line:
		c.Command = line
		return c, "its arguments say another command"
	}
	for _, key := range []string{"workdir", "cwd", "directory", "dir_path"} {
		dir := ""
		switch raw, there := args[key]; {
		case !there || string(raw) == "null":
		case json.Unmarshal(raw, &dir) != nil:
			return c, "its directory is no text"
		case strings.HasPrefix(dir, "/"):
			c.Cwd = dir
		case dir != "" && c.Cwd != "":
			c.Cwd += "/" + dir // not joined: the kernel takes ".." after links
		case dir != "":
			return c, "it cannot be told in which directory it runs: give an absolute one"
		}
	}
	return c, odd
}

// wordList reads a JSON list of texts.
func wordList(data []byte) ([]string, bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return nil, false
	}
	var words []*string
	if json.Unmarshal(data, &words) != nil || slices.Contains(words, nil) {
		return nil, false
	}
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = *w
	}
	return out, true
}

// lineOf is the Bash line of a list of words: the script of a shell that is given one, or exactly these words. Bash and
// the plain shell read a line alike as far as the gate lets it pass; another shell does not, and counts only when it is
// not the one that runs it.
func lineOf(words []string, foreign bool) string {
	if len(words) == 3 && slices.Contains([]string{"-c", "-lc", "-cl"}, words[1]) {
		shells := []string{"bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash", "/usr/bin/sh"}
		if !foreign {
			shells = append(shells, "zsh", "/bin/zsh", "/usr/bin/zsh")
		}
		if slices.Contains(shells, words[0]) {
			return words[2]
		}
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; !asItIs.MatchString(w) || i == 0 && keywords[w] {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// asItIs is a word that bash reads as itself, also as the first one of a line.
var asItIs = regexp.MustCompile(`^[A-Za-z0-9_./:@%,-]+$`)

var keywords = set(strings.Fields("if then else elif fi case esac for select while until do done in function time coproc"))
