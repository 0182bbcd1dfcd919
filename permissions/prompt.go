package permissions

import "github.com/planswarm/swarm/permissions/intent"

// ResolvePrompt fills in what the words of a prompt mean. Unknown words, and any tool but Bash, leave Intent empty: such
// a prompt grants nothing.
func ResolvePrompt(tool, text string) Prompt {
	p := Prompt{Tool: tool, Prompt: text}
	in, ok := intent.Resolve(text)
	if !ok || tool != "Bash" {
		return p
	}
	return promptOf(p, in)
}

// promptOf is a prompt that means an intent.
func promptOf(p Prompt, in intent.Intent) Prompt {
	p.Intent, p.Examples = in.Name, append([]string(nil), in.Examples...)
	for _, c := range in.Classes {
		p.Classes = append(p.Classes, Class(c))
	}
	return p
}
