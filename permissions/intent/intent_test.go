package intent_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

func ExampleResolve() {
	in, ok := intent.Resolve("Run the unit tests")
	fmt.Println(in.Name, in.Classes, ok)
	_, ok = intent.Resolve("run the unit tests and deploy")
	fmt.Println(ok)
	// Output:
	// run tests [runs project code] true
	// false
}

func TestPromptsThatAreKnown(t *testing.T) {
	for want, prompts := range map[string][]string{
		"run tests": {
			"run tests", "run the tests", "Run Tests", "run test", "run the unit tests", "execute the test suite", "execute unit tests", "run our tests", "run go test", "run the existing tests",
			"  run   tests ", "run tests.", "run make test", "运行测试", "执行单元测试", "跑测试", "运行测试用例", "运行 测试", "执行测试套件。",
		},
		"build":  {"build", "compile", "Build the project", "compile our go code", "run the build", "execute go build", "build binaries.", "构建", "编译", "构建项目", "编译代码", "执行构建"},
		"format": {"format", "format code", "reformat the source code", "run gofmt", "run the formatter", "run go fmt", "format our go files", "格式化", "格式化代码", "运行代码格式化"},
		"vet":    {"vet", "vet the code", "run go vet", "run vet", "execute the static analysis", "运行静态分析", "进行代码静态分析"},
		"lint":   {"lint", "lint the code", "run the linter", "run linters", "execute the linter", "run golangci lint", "run staticcheck", "运行代码检查", "执行静态检查", "跑代码规范检查"},
	} {
		for _, p := range prompts {
			if in, ok := intent.Resolve(p); !ok || in.Name != want {
				t.Errorf("Resolve(%q) = %q, %t; want %s", p, in.Name, ok, want)
			}
		}
	}
}

func TestEverythingElseIsUnknown(t *testing.T) {
	for _, p := range []string{
		"", " ", ".", "run", "tests", "the tests", "run the", "do not run tests", "don't run tests", "never run tests", "run no tests", "run tests except slow ones", "run all tests", "run any tests",
		"run any command", "do whatever is needed", "*", "run tests and deploy to production", "run tests and build", "build and test", "build and deploy", "build the", "the build", "build the the code", "build release", "build everything", "build all", "build any code",
		"do not build", "run", "run code", "run the code", "run the project", "compile and run", "build it", "build production", "format disk", "format the disk", "format all", "format everything", "run format c",
		"lint and fix", "lint fix", "fix lint", "run lint fix", "vet dependencies", "run the linter with fix", "build for release", "builds", "formatting", "构建并部署", "格式化磁盘", "格式化硬盘", "不要构建", "运行代码", "运行项目",
		"代码", "检查", "静态", "构建构建", "编译构建", "运行构建项目并发布", "run tests, then push", "run tests in production", "run tests with sudo",
		"run tests on the remote host", "run tests; rm -rf /", "run tests && push", "run `tests`", "run $(tests)", "run tests > out", "run tests\nrm x", "run\ttests", "run-tests", "run tests!",
		"delete old tests", "fix the tests", "write tests", "skip tests", "stop the tests", "run the the tests", "run the our tests", "run tests please now and quickly for me today again",
		"run te\u200bsts", "run t\u0435sts", "rυn tests", "ｒｕｎ tests", "run tests\u202e", "run tésts", "运行所有测试", "不要运行测试", "运行测试并部署", "运行测试 run tests", "运行", "测试", "删除测试",
		"運行測試", "运行\u3000测试", strings.Repeat("run ", 100) + "tests", "execute", "execute tests as root", "run test server", "run tests 2", "run tests/unit",
	} {
		if in, ok := intent.Resolve(p); ok {
			t.Errorf("Resolve(%q) = %q, want unknown", p, in.Name)
		}
	}
}

func argv(t *testing.T, src string) []shellcmd.Word {
	t.Helper()
	line, err := shellcmd.Parse(src, "/p")
	if err != nil {
		t.Fatal(err)
	}
	return line.Commands[len(line.Commands)-1].Argv
}

func TestEveryIntentIsDescribedAndKeepsItsExamples(t *testing.T) {
	classes := []string{"runs project code", "network", "publishes", "root-equivalent", "long-lived", "touches data"}
	for _, in := range intent.All() {
		if got, ok := intent.Describe(in.Name); !ok || got.Name != in.Name {
			t.Errorf("Describe(%q) = %q, %t", in.Name, got.Name, ok)
		}
		if len(in.Examples) == 0 || len(in.Never) == 0 || len(in.Classes) == 0 && in.Name != "format" {
			t.Errorf("%q has no examples, no limits or no classes", in.Name)
		}
		for _, c := range in.Classes {
			if !slices.Contains(classes, c) {
				t.Errorf("%q has the unknown class %q", in.Name, c)
			}
		}
		if got, ok := intent.Resolve(in.Name); !ok || got.Name != in.Name {
			t.Errorf("the name %q is not recognised as itself", in.Name)
		}
	}
	if _, ok := intent.Describe("Run tests"); ok {
		t.Error("names are compared exactly")
	}
}

// cases are what an intent covers and what it never does.
type cases struct{ covers, never []string }

func TestWhatIntentsCover(t *testing.T) {
	for name, row := range map[string]cases{
		"run tests": runTests,
		"build": {
			[]string{
				"go build", "go build .", "go build ./...", "go build -v -race ./cmd/a ./b", "go build -tags=a,b -mod=readonly -p 4 ./...", "go build -trimpath a.go b.go", "go build -buildvcs=false ./...",
				"go build -n ./...", "go build -cover -covermode=atomic -coverpkg ./a/... ./...", "go build --race",
			},
			[]string{
				"go build -o x", "go build -o=x .", "go build -ox", "go build --o x", "go build -toolexec=x", "go build -toolexec x ./...", "go build -exec x", "go build -overlay x", "go build -modfile=x", "go build -C x",
				"go build -ldflags=-extld=x", "go build -ldflags '-linkmode=external -extld=./ld'", "go build -gcflags=x", "go build -asmflags=x", "go build -gccgoflags=x", "go build -compiler=gccgo", "go build -buildmode=plugin",
				"go build -pgo=x", "go build -pkgdir x", "go build -installsuffix x", "go build -work", "go build -linkshared", "go build -modcacherw", "go build -mod=mod", "go build -buildvcs=true", "go build -buildvcs",
				"go build std", "go build example.com/x", "go build ./a@v1", "go build ./*", "go build $x", "go install ./...", "go run .", "go generate ./...", "go test ./...", "go tool x", "go get x", "go mod tidy", "./go build",
				"go -C x build", "gccgo x", "go1.22 build ./...", "make install", "make build install", "npm run build:publish", "cargo install", "cargo build --config x",
			},
		},
		"format": {
			[]string{
				"gofmt -l .", "gofmt -w .", "gofmt -l -w -s a.go b", "gofmt -d ./a", "gofmt --w a.go", "go fmt", "go fmt ./...", "go fmt -x ./a", "goimports -w .", "goimports -local example.com/a -l -w ./a", "gofumpt -l -w -extra .", "gofmt -",
			},
			[]string{
				"gofmt -r 'a -> b' -w .", "gofmt -r=x .", "gofmt -cpuprofile=x .", "gofmt -cpuprofile x", "gofmt -w=x .", "gofmt -w $x", "gofmt -lw .", "goimports -srcdir x .", "goimports -cpuprofile x", "goimports -memprofile=x .",
				"goimports -trace=x", "goimports -memrate 1 .", "gofumpt -cpuprofile x .", "gofumpt -modpath x .", "go fmt -mod=mod", "go fmt -modfile=x", "go fmt -toolexec=x", "go fix ./...", "go fmt std", "./gofmt -w .", "/tmp/gofmt .",
				"prettier --plugin=x -w .", "npx prettier --config x .", "black --config x .", "go vet ./...", "gofmt *",
			},
		},
		"vet": {
			[]string{"go vet", "go vet ./...", "go vet -tags x ./a", "go vet -json -c=3 ./...", "go vet -printf=false -copylocks ./...", "go vet a.go", "go vet -mod=vendor -race ./..."},
			[]string{
				"go vet -vettool=x", "go vet -vettool x ./...", "go vet --vettool=./v ./...", "go vet -toolexec=x ./...", "go vet -exec x", "go vet -overlay x", "go vet -modfile=x", "go vet -C x", "go vet -fix ./...", "go vet -diff ./...",
				"go vet -ldflags=x", "go vet -gcflags=x", "go vet -cpuprofile=x", "go vet -printf.funcs=x", "go vet -mod=mod", "go vet std", "go vet example.com/x", "go vet ./*", "go tool vet", "go vet -o x", "go vet -flags", "go vet -V=full",
				"go fix ./...", "go build ./...", "go test -vet=all ./...",
			},
		},
		"lint": {
			[]string{
				"golangci-lint run", "golangci-lint run ./...", "golangci-lint run ./... --timeout 5m", "golangci-lint run --timeout=5m -v -j 2 ./a/...", "golangci-lint run -E gocritic,revive -D errcheck", "golangci-lint run --no-config --fast",
				"golangci-lint run --build-tags=a --tests=false --color=never --max-issues-per-linter 0", "staticcheck ./...", "staticcheck -checks=all,-ST1000 -tests=false ./a", "staticcheck -f stylish .", "go vet ./...",
			},
			[]string{
				"golangci-lint", "golangci-lint run --fix", "golangci-lint run -c x.yml", "golangci-lint run --config=x", "golangci-lint run --config x ./...", "golangci-lint custom", "golangci-lint cache clean", "golangci-lint fmt",
				"golangci-lint run --new", "golangci-lint run -n", "golangci-lint run --new-from-rev=HEAD~1", "golangci-lint run --new-from-patch=x", "golangci-lint run --out-format=json:/x", "golangci-lint run --output.json.path=x",
				"golangci-lint run --output.text.path x", "golangci-lint run --cpu-profile-path=x", "golangci-lint run --mem-profile-path x", "golangci-lint run --trace-path=x", "golangci-lint run --path-prefix=x", "golangci-lint migrate",
				"golangci-lint run --modules-download-mode=mod", "golangci-lint run ../x/*", "golangci-lint run $x", "golangci-lint run std", "golangci-lint -c x run", "golangci-lint config path", "golangci-lint linters", "./golangci-lint run",
				"staticcheck -debug.cpuprofile=x .", "staticcheck -debug.trace x .", "staticcheck -merge x", "staticcheck -matrix", "staticcheck -f=x .", "staticcheck -explain SA1000", "staticcheck std", "staticcheck ./a ../b/*",
				"go vet -vettool=x", "go vet -fix ./...", "go build ./...", "go tool golangci-lint run", "go run honnef.co/go/tools/cmd/staticcheck ./...", "eslint --fix .", "npx eslint -c x .", "npm run lint:fix", "make lint-fix", "revive -config x ./...",
			},
		},
	} {
		in, ok := intent.Describe(name)
		if !ok {
			t.Fatalf("no intent %q", name)
		}
		for _, src := range slices.Concat(row.covers, in.Examples) {
			if _, err := in.Match(argv(t, plain(src))); err != nil {
				t.Errorf("%s: Match(%s) = %v", name, src, err)
			}
		}
		for _, src := range row.never {
			if _, err := in.Match(argv(t, src)); !errors.Is(err, schema.ErrUnknown) {
				t.Errorf("%s: Match(%s) = %v, want ErrUnknown", name, src, err)
			}
		}
	}
}

// plain is the command of an example, without where it runs and who reads what it prints.
func plain(src string) string {
	_, after, ok := strings.Cut(src, "&& ")
	if ok {
		src = after
	}
	src, _, _ = strings.Cut(src, " 2>&1")
	return src
}

var runTests = cases{
	covers: []string{
		"go test", "go test .", "go test ./...", "go test -v -race -count=1 ./a/...", "go test -run TestX ./a", "go test -run='A|B' ./a ./b", "go test ./... -v", "go test --short ./...",
		"go test -timeout 30s ./...", "go test -tags=a,b ./...", "go test a_test.go a.go", "go test -cover -covermode atomic ./...", "go test -shuffle=on ./...", "go test -bench . ./a",
		"make test", "make check", "make -s -j4 test", "make --jobs=2 -k check", "make -j test", "npm test", "npm t", "npm run test", "npm -s run test", "npm run-script test:unit", "npm test --silent",
	},
	never: []string{
		"go test -exec x ./...", "go test -exec=x ./...", "go test --exec=x", "go test -toolexec=x", "go test -vettool=x", "go test -overlay=x", "go test -modfile=x", "go test -o x", "go test -c",
		"go test -coverprofile=x", "go test -cpuprofile x", "go test -memprofile=x", "go test -trace=x", "go test -outputdir=x", "go test -C x", "go test -ldflags=x", "go test -gcflags=x",
		"go test -args x", "go test -test.run=x", "go test ./... -v x", "go test ./a -v ./b", "go test -mod=mod", "go test -fuzz=x", "go test -pkgdir=x", "go test std", "go test example.com/x", "go test all",
		"go vet ./...", "go run .", "go build", "go", "go test $x", "go test ./*", "gotest", "./go test", "/usr/bin/go test", "go test -vet=../x", "go test -v=x", "go -C x test",
		"go test -run -exec ./...", "go test -pgo=x", "go test -asmflags=x", "go test -compiler=gccgo", "go test -linkshared", "go test -work -exec x", "go test ./a@v1",
		"make", "make test x", "make test check", "make testing", "make test CC=x", "make CC=x test", "make SHELL=/x test", "make -f x test", "make --file=x test", "make -C x -C y test", "make -I x test", "make -E x test",
		"make --eval=x test", "make -e test", "make -j 4 test", "make -jx test", "make -o x test", "make -W x test", "make -r test", "make -- test x", "make -k test deploy", "make ./test", "gmake test", "./make test",
		"npm", "npm run", "npm run test x", "npm test x", "npm test -- --watch", "npm run test -- -u", "npm run deploy", "npm run test:e2e", "npm --prefix x --prefix y test", "npm -C x -C y test", "npm test --prefix x",
		"npm test --script-shell=x", "npm --script-shell x test", "npm test --node-options=x", "npm test -w ../x", "npm test -w /x", "npm --userconfig x test", "npm tst", "npm exec test",
		"npm x jester", "npx jest --config=x", "npm install", "npm run --silent=x test", "pnpm test:e2e", "yarn tests:e2e",
	},
}
