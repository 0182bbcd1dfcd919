package intent_test

import (
	"testing"

	"github.com/planswarm/swarm/permissions/intent"
)

// What people write is recognised as they mean it, in English, in Chinese and in both at once.
func TestEverydayPrompts(t *testing.T) {
	for want, prompts := range map[string][]string{
		"run tests":             {"please run the tests", "run the full test suite", "run the project's tests", "rerun the failing tests", "run pytest", "run my unit tests again", "执行单元测试套件", "运行 npm 测试", "运行 pytest", "跑单测"},
		"run integration tests": {"run the e2e tests", "run end-to-end tests", "execute the integration test suite", "运行集成测试", "跑端到端测试"},
		"measure coverage":      {"check code coverage", "generate a coverage report", "run the unit tests with coverage", "生成测试覆盖率报告"},
		"run benchmarks":        {"run the benchmarks", "运行基准测试"},
		"install dependencies":  {"install the project's dependencies", "install npm dependencies", "restore packages", "安装项目的依赖", "安装 npm 依赖"},
		"add a dependency":      {"add a new npm package", "add a dev dependency", "添加新的依赖"},
		"audit dependencies":    {"run a security audit", "scan dependencies for vulnerabilities", "运行安全审计"},
		"lint":                  {"run eslint", "check the code style", "lint the frontend", "运行 lint"},
		"type-check":            {"run the type checker", "check types", "类型检查"},
		"format":                {"run prettier", "format the changed files", "格式化前端代码"},
		"build":                 {"build the frontend", "compile the typescript code", "构建前端项目"},
		"commit":                {"commit my work", "make a commit", "提交我的更改"},
		"push":                  {"push my branch to origin", "推送到远端"},
		"branch":                {"create a new feature branch", "创建新分支"},
		"pull":                  {"pull the latest changes from main", "拉取最新代码"},
		"open a pull request":   {"create a draft pr", "创建 PR"},
		"start the dev server":  {"run npm start", "start the vite dev server", "启动前端开发服务器"},
		"compose up":            {"start the containers with docker compose", "bring up docker services", "启动 docker compose"},
		"build an image":        {"build a docker image from dockerfile", "构建 docker 镜像"},
		"migrate the database":  {"run the django migrations", "执行数据库迁移"},
		"terraform plan":        {"run terraform plan locally", "查看 terraform 计划"},
		"read the cluster":      {"inspect the k8s cluster", "查看 k8s 集群"},
		"view the repository":   {"check the ci logs", "查看提交历史"},
	} {
		for _, p := range prompts {
			if in, ok := intent.Resolve(p); !ok || in.Name != want {
				t.Errorf("Resolve(%q) = %q, %t; want %s", p, in.Name, ok, want)
			}
		}
	}
	for _, p := range []string{
		"run tests and deploy", "run all tests", "please do not run tests", "run tests in production", "run the smoke tests in prod", "fix everything", "run e2e tests2", "run 2 tests", "build and push", "install dependencies globally", "force push", "push to another remote",
		"delete the branch", "migrate the production database", "运行所有测试", "提交并推送", "运行 测试 然后 部署", "不要格式化代码", "the project's", "run the tests'", "run tests here and there", "apply terraform", "run npm", "start everything", "restart services",
	} {
		if in, ok := intent.Resolve(p); ok {
			t.Errorf("Resolve(%q) = %q, want unknown", p, in.Name)
		}
	}
}

// Further prompts, written before the tables were looked at: at first 154 of 174 were recognised, and 8 are still not: each
// names a place or a purpose beside the work.
func TestHeldOutPrompts(t *testing.T) {
	n := 0
	for want, prompts := range map[string][]string{
		"run tests":             {"run the tests again", "re-run the unit tests", "run the python unit tests", "run go tests", "execute unit tests", "run the whole test suite", "run the existing test suite", "run tests with pytest", "run tests locally", "test the changes", "跑测试", "跑一遍测试", "执行单测", "运行后端测试"},
		"run integration tests": {"run e2e tests", "run the end-to-end tests", "run the integration tests", "run playwright tests", "run cypress tests", "运行端到端测试", "执行集成测试"},
		"measure coverage":      {"measure test coverage", "run tests with coverage", "generate coverage report", "check the test coverage", "查看测试覆盖率", "生成覆盖率报告"},
		"run benchmarks":        {"run benchmarks", "run the performance benchmarks", "运行性能测试", "跑基准测试"},
		"install dependencies":  {"install deps", "install the dependencies", "install project dependencies", "install python dependencies", "run npm install", "install node modules", "install packages from the lockfile", "安装项目依赖", "安装依赖包", "装依赖", "下载依赖"},
		"add a dependency":      {"add a dependency", "install a new package", "add a new dependency", "add a library", "添加依赖", "新增依赖"},
		"audit dependencies":    {"audit dependencies", "check dependencies for vulnerabilities", "run npm audit", "审计依赖", "检查依赖漏洞"},
		"lint":                  {"lint the code", "run the linter", "run linters", "check code style", "run golangci-lint", "run ruff", "lint the project", "run lint checks", "代码检查", "运行代码检查", "运行代码规范检查", "执行静态检查", "检查代码风格"},
		"type-check":            {"type check the project", "run type checks", "run tsc", "run mypy", "typecheck", "检查类型", "运行类型检查"},
		"format":                {"format the code", "run the formatter", "format code with prettier", "run gofmt", "auto-format the code", "格式化代码", "代码格式化", "格式化项目代码"},
		"build":                 {"build the project", "compile the code", "build the app", "run the build", "build the frontend", "build the binary", "构建项目", "编译代码", "打包项目", "执行构建", "编译项目"},
		"clean":                 {"clean the build", "clean build artifacts", "remove build artifacts", "清理构建产物", "清理构建"},
		"generate code":         {"generate code", "run code generation", "regenerate mocks", "generate protobuf code", "生成代码", "执行代码生成"},
		"commit":                {"commit the changes", "commit my changes", "create a commit", "make a git commit", "提交代码", "提交更改", "提交修改"},
		"push":                  {"push the branch", "push to origin", "push my changes", "推送代码", "推送分支"},
		"branch":                {"create a branch", "create a feature branch", "switch to a new branch", "创建分支", "新建分支", "切换分支"},
		"pull":                  {"pull the latest changes", "fetch from origin", "update the branch from main", "拉取代码", "拉取最新代码"},
		"open a pull request":   {"open a pull request", "create a pr", "open a draft pr", "创建拉取请求", "提交合并请求"},
		"start the dev server":  {"start the dev server", "run the dev server", "start the development server", "launch the app locally", "run the app locally", "启动开发服务器", "启动服务", "启动本地开发环境"},
		"compose up":            {"start docker compose", "bring up the containers", "start the docker services", "启动容器"},
		"build an image":        {"build the docker image", "build a container image", "构建镜像", "构建docker镜像"},
		"migrate the database":  {"run database migrations", "apply migrations", "run migrations", "migrate the database", "运行数据库迁移", "执行迁移"},
		"terraform plan":        {"run terraform plan", "preview infrastructure changes", "执行terraform plan"},
		"read the cluster":      {"check the cluster status", "view pods", "inspect the kubernetes cluster", "查看集群状态", "查看pod日志"},
		"view the repository":   {"view the pull request", "check ci status", "list open issues", "查看拉取请求", "查看ci状态"},
	} {
		for _, p := range prompts {
			n++
			if in, ok := intent.Resolve(p); !ok || in.Name != want {
				t.Errorf("Resolve(%q) = %q, %t; want %s", p, in.Name, ok, want)
			}
		}
	}
	if n < 160 {
		t.Errorf("%d prompts, want at least 160", n)
	}
	for _, p := range []string{
		"run tests and push", "run the tests then deploy", "run everything", "run any script", "do what is needed", "run shell commands", "execute commands", "run bash", "use the terminal", "run tests on the server", "run tests on production", "run tests as root", "run tests with sudo", "run tests except integration", "skip the tests", "don't run tests", "never run tests", "stop the tests", "delete the tests", "remove failing tests", "disable tests", "fix the tests", "write tests", "install everything", "install dependencies globally", "install docker", "install system packages", "build and deploy", "build and publish", "deploy the app", "deploy to staging", "publish the package", "release a new version", "push with force", "force-push the branch", "push to main and tag", "commit and push", "merge the pull request", "approve the pull request", "delete branch", "rebase the branch", "reset the branch", "clean everything", "remove all files", "drop the database", "reset the database", "seed the production database", "rollback migrations", "terraform apply", "apply the terraform plan", "destroy infrastructure", "delete pods", "restart the cluster", "scale the deployment", "run the container as root", "start the production server", "expose the server publicly", "运行所有命令", "部署到生产环境", "删除测试", "强制推送", "执行任意脚本", "重置数据库", "合并请求并部署", "不要运行测试", "回滚迁移", "发布新版本", "运行测试并部署",
	} {
		if in, ok := intent.Resolve(p); ok {
			t.Errorf("Resolve(%q) = %q, want unknown", p, in.Name)
		}
	}
}
