package permissions_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/permissions"
)

const (
	code  = permissions.ClassRunsProjectCode
	net   = permissions.ClassNetwork
	pub   = permissions.ClassPublishes
	root  = permissions.ClassRootEquivalent
	data  = permissions.ClassTouchesData
	stays = permissions.ClassLongLived
)

var all = []permissions.Class{code, net, pub, root, data, stays}

func classes(c ...permissions.Class) []permissions.Class { return c }

func ExampleKinds() {
	fmt.Println(permissions.Kinds("Bash", "go test ./... && git push origin main"))
	fmt.Println(permissions.Kinds("Edit", "main.go"))
	// Output:
	// [run tests ] [runs project code network publishes]
	// [] []
}

func TestKinds(t *testing.T) {
	unknown := []string{""}
	for command, want := range map[string]struct {
		intents []string
		classes []permissions.Class
	}{
		"go test ./...":                            {[]string{"run tests"}, classes(code)},
		"go test ./... 2>&1 | tail -5":             {[]string{"run tests"}, classes(code)},
		"cd api && make test":                      {[]string{"run tests"}, classes(code)},
		"timeout 60 npm test":                      {[]string{"run tests"}, classes(code)},
		"go build ./... && go test ./...":          {[]string{"build", "run tests"}, classes(code)},
		"go vet ./...":                             {[]string{"vet"}, classes(code)},
		"gofmt -w .":                               {[]string{"format"}, classes(code)},
		"go test -exec x ./...":                    {unknown, classes(code)},
		"cd .. && go test ./...":                   {unknown, classes(code)},
		"go test ./... > out":                      {unknown, classes(code)},
		"LD_PRELOAD=./x go test ./...":             {unknown, classes(code)},
		"FOO=1; go test ./...":                     {[]string{"", "run tests"}, classes(code)},
		"ls -la":                                   {unknown, nil},
		"cat /etc/hosts":                           {unknown, nil},
		"git status && make test":                  {[]string{"", "run tests"}, classes(code)},
		"mkdir -p a && touch a/b":                  {unknown, nil},
		"frobnicate":                               {unknown, classes(code)},
		"./deploy.sh":                              {unknown, classes(code, pub)},
		"make release":                             {unknown, classes(code, pub)},
		"npm run db:migrate":                       {[]string{"migrate the database"}, classes(code, net, data)},
		"docker compose up -d":                     {[]string{"compose up"}, classes(code, net, root, stays)},
		"python3 script.py":                        {unknown, classes(code)},
		"python3 -c 'x'":                           {unknown, all},
		"python3.12 -c 'x'":                        {unknown, all},
		"python3 -cx":                              {unknown, all},
		"node -e 'x'":                              {unknown, all},
		"python3 < x.py":                           {unknown, all},
		"cat x | python3 -u y.py":                  {unknown, all},
		"python3 <<'E'\nx\nE":                      {unknown, all},
		"node":                                     {unknown, all},
		"curl https://example.com":                 {unknown, classes(code, net)},
		"wget -q example.com":                      {unknown, classes(code, net)},
		"curl -d @x example.com":                   {unknown, classes(code, net, pub)},
		"curl x | sh":                              {unknown, all},
		"ssh host ls":                              {unknown, classes(code, net)},
		"scp a host:b":                             {unknown, classes(net, pub)},
		"git push":                                 {unknown, classes(code, net, pub)},
		"git -c a=b push -f":                       {unknown, classes(code, net, pub, data)},
		"git fetch origin":                         {unknown, classes(code, net)},
		"git commit -m 'prepare the next release'": {unknown, nil},
		"git reset --hard":                         {unknown, classes(data)},
		"git $x":                                   {unknown, classes(code, net, pub, data)},
		"npm ci":                                   {[]string{"install dependencies"}, classes(code, net)},
		"npm publish":                              {unknown, classes(code, net, pub)},
		"pip install -r requirements.txt":          {[]string{"install dependencies"}, classes(code, net)},
		"go get ./...":                             {unknown, classes(net)},
		"go install x@latest":                      {unknown, classes(code, net)},
		"docker push x":                            {unknown, classes(net, pub)},
		"docker run x":                             {unknown, classes(code, net, root)},
		"sudo ls":                                  {unknown, classes(root)},
		"sudo npm publish":                         {unknown, classes(net, pub, root)},
		"env A=1 sudo -u x ls":                     {unknown, classes(code, root)},
		"sh -c 'git push; sudo x'":                 {unknown, all},
		"xargs git push":                           {unknown, classes(code, net, pub)},
		"rm -rf build":                             {[]string{"clean"}, classes(code, data)},
		"rm -rf src":                               {unknown, classes(data)},
		"psql -c 'drop table x'":                   {unknown, classes(code, net, data)},
		"terraform apply":                          {unknown, classes(net, pub, data)},
		"cat ~/.ssh/id_rsa":                        {unknown, classes(data)},
		"cp .env x":                                {unknown, classes(data)},
		"npm run dev":                              {[]string{"start the dev server"}, classes(code, stays)},
		"for f in a b; do git push; done":          {unknown, classes(code, net, pub)},
		"echo $(git push)":                         {unknown, classes(code, net, pub)},
		"f() { sudo x; }; f":                       {unknown, classes(code, root)},
		"$x push":                                  {unknown, all},
		"$(x)":                                     {unknown, all},
		"if":                                       {unknown, all},
		"":                                         {unknown, all},
		"go test\x00":                              {unknown, all},
		"eval \"$x\"":                              {unknown, all},
	} {
		for _, tool := range []string{"Bash", "run_shell_command"} {
			intents, classes := permissions.Kinds(tool, command)
			if !slices.Equal(intents, want.intents) || !slices.Equal(classes, want.classes) {
				t.Errorf("Kinds(%s, %q) = %q, %q; want %q, %q", tool, command, intents, classes, want.intents, want.classes)
			}
		}
	}
}

func TestKindsOfOtherTools(t *testing.T) {
	for _, row := range []struct {
		tool, input string
		intents     []string
		classes     []permissions.Class
	}{
		{"Edit", "main.go", nil, nil},
		{"Write", "/x/y.go", nil, nil},
		{"Read", "a", nil, nil},
		{"Read", "/home/anna/.ssh/id_rsa", nil, classes(data)},
		{"Read", "/home/anna/.config/gh/hosts.yml", nil, classes(data)},
		{"Edit", ".env", nil, classes(data)},
		{"WebFetch", "https://example.com", []string{""}, classes(net)},
		{"mcp__db__query", "x", []string{""}, all},
		{"", "", []string{""}, all},
		{"Task", "x", nil, nil},
	} {
		intents, classes := permissions.Kinds(row.tool, row.input)
		if !slices.Equal(intents, row.intents) || !slices.Equal(classes, row.classes) {
			t.Errorf("Kinds(%s, %q) = %q, %q; want %q, %q", row.tool, row.input, intents, classes, row.intents, row.classes)
		}
	}
}

// A line is no less than its parts are: nobody may approve it who may not approve each.
func TestKindsOfALineHoldItsParts(t *testing.T) {
	part := rapid.SampledFrom([]string{
		"ls", "go test ./...", "go build", "git push", "sudo x", "npm publish", "rm x", "curl x", "python3 -c x", "make deploy", "cat ~/.netrc", "cd ..", "cd a", "$x", "docker run y", "FOO=1 ls", "psql", "tail -f x", "echo a", "gofmt -w .", "rm -rf build", "npm ci", "docker compose up -d", "npm run dev", "wget x | sh",
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := part.Draw(t, "a"), part.Draw(t, "b")
		line := a + rapid.SampledFrom([]string{" && ", "; ", " || ", " | ", "\n", " & "}).Draw(t, "op") + b
		_, classes := permissions.Kinds("Bash", line)
		for _, p := range []string{a, b} {
			_, want := permissions.Kinds("Bash", p)
			for _, c := range want {
				if !slices.Contains(classes, c) {
					t.Fatalf("Kinds(%q) = %q, without %q of %q", line, classes, c, p)
				}
			}
		}
	})
}

// What is not allowed under any grant is under no intent's name.
func TestKindsOfTheCorpus(t *testing.T) {
	for _, r := range corpus(t) {
		intents, classes := permissions.Kinds("Bash", r.Command)
		if len(intents) == 0 {
			t.Errorf("%s: Kinds(%q) has no intents, classes %q", r.ID, r.Command, classes)
		}
		var granted []string
		for _, g := range r.Grants {
			granted = append(granted, grant(g).Intent)
		}
		if r.Kind == "bypass" && !slices.ContainsFunc(intents, func(in string) bool { return in == "" || !slices.Contains(granted, in) }) {
			t.Errorf("%s: Kinds(%q) = %q, all of them granted", r.ID, r.Command, intents)
		}
	}
}

func FuzzKinds(f *testing.F) {
	for _, s := range []string{"go test && git push", "x $(y) `z`", "cat <<'E'\nx\nE", "sh -c 'a; b'", "A=b"} {
		f.Add("Bash", s)
	}
	f.Fuzz(func(t *testing.T, tool, input string) {
		intents, _ := permissions.Kinds(tool, input)
		if tool == "Bash" && len(intents) == 0 {
			t.Fatalf("Kinds(%q) has no intents", input)
		}
	})
}
