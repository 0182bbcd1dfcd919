package permissions

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// pathKeys are the arguments of file tools that name the file or folder.
var pathKeys = []string{"file_path", "path", "absolute_path", "notebook_path", "dir_path", "directory", "target_directory"}

// withPath is a call of a file tool with the file that it is about, where only its arguments say so. Where both say it
// they must say the same.
func withPath(c Call) (call Call, odd string) {
	if c.Args == "" {
		return c, ""
	}
	args, ok := arguments(c.Args)
	if !ok {
		return c, "its arguments cannot be read: give them as one JSON object"
	}
	if c.Tool == "apply_patch" {
		return c, unknownKey(args, patchKeys)
	}
	for _, key := range pathKeys {
		text := ""
		switch raw, there := args[key]; {
		case !there || string(raw) == "null":
		case json.Unmarshal(raw, &text) != nil, c.Path != "" && c.Path != text && c.Path != c.Cwd+"/"+text:
			return c, "it cannot be told which file it is about"
		case c.Path == "":
			c.Path = text
		}
	}
	if pattern := ""; slices.Contains(listers, c.Tool) && args["pattern"] != nil {
		if json.Unmarshal(args["pattern"], &pattern) != nil {
			return c, "its pattern is no text"
		}
		if c.Path != "" && c.Path != pattern && !strings.HasPrefix(pattern, "/") {
			pattern = c.Path + "/" + pattern
		}
		c.Path = pattern
	}
	if lists := args["paths"] != nil || args["include"] != nil && c.Tool == "read_many_files"; lists || c.Path == "" && classOf(c.Tool) != classSearch {
		return c, "it cannot be told which file it is about"
	}
	return c, ""
}

// unknownKey says which of the arguments, the first by name, is none of those that are known.
func unknownKey(args map[string]json.RawMessage, known []string) string {
	for _, key := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(known, key) {
			return "what its argument " + key + " does is not known: leave it out"
		}
	}
	return ""
}

// arguments reads a JSON object of which no key stands twice, by the exact names of its keys.
func arguments(text string) (map[string]json.RawMessage, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	out := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return nil, false
		}
		var v json.RawMessage
		if _, twice := out[name]; twice || d.Decode(&v) != nil {
			return nil, false
		}
		out[name] = v
	}
	if _, err := d.Token(); err != nil || d.More() {
		return nil, false
	}
	return out, true
}
