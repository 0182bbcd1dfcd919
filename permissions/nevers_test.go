package permissions_test

import (
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
)

// Whatever is granted, these ask: they run, load, write, publish or delete what no intent means.
func TestNoIntentCovers(t *testing.T) {
	s := state(permissions.ModeDefault)
	for _, in := range intent.All() {
		s.Grants = append(s.Grants, grant(in.Name))
	}
	for list := range strings.SplitSeq(`
npm install -g x|npm install ./x|npm install user/repo|npm install x.tgz|npm install https://x.invalid/a|npm ci --registry=x|npm ci --script-shell=x|npm publish|npm audit fix|npm run deploy|npx --yes eslint|npm install --prefix /tmp
pip install -r https://x.invalid/r|pip install --index-url x y|pip install git+https://x.invalid/y|pip install ../x|pip install x.whl|pip install --target / x|pip install -e ../x|uv pip install --index x y|uv tool install x|poetry add ./x|poetry publish|uv publish
go install ./...|go install x@latest|go get -u ./...|go run x@latest|go run ./a b|go generate -exec=x ./...|go mod edit -replace=a=b|go work use ..|go env -w A=b|go build -o Makefile .|go build -o ../x .|go build -o bin/../../x .|go build -o .git/hooks/x .|go tool pprof x
cargo install x|cargo publish|cargo add --path ../x y|cargo add --git x y|cargo build --config x|cargo clippy --fix|cargo run -- x
bundle install --path /|gem install x|gem push x|composer require ./x|composer global require x|composer exec x|composer config -g a b|dotnet add package x --source y|dotnet nuget push x|dotnet run -- x|dotnet tool install x
git push --force|git push -f|git push --force-with-lease|git push origin +main|git push origin :main|git push origin a:b|git push -d origin x|git push https://x.invalid/y main|git push evil main|git push --mirror|git push --all|git push --no-verify|git push ../x main
git commit|git commit --no-verify -m x|git commit -nm x|git -c a=b commit -m x|git commit -F /etc/passwd|git commit -F ~/x|git commit -C HEAD|git commit -m x -- ../y|git add -f x|git add .env|git add ../x|git add /etc/passwd|git add -p|git add --chmod=+x a
git branch -D x|git branch -m x|git checkout main|git checkout -- .|git checkout -f -b x|git switch -f x|git switch -C x|git switch --discard-changes x|git pull --upload-pack=x|git pull -f|git pull https://x.invalid/y|git fetch --upload-pack=x origin|git fetch origin +a:b|git reset --hard|git clean -fdx|git rebase main|git merge x|git stash|git rm x|git restore x|git config a b
gh pr merge 1|gh pr close 1|gh pr create -R a/b --fill|gh pr create --fill --body-file ~/x|gh pr checkout 1|gh pr comment 1 -b x|gh api -X POST repos|gh api repos -f a=b|gh api graphql -f query=x|gh api https://x.invalid|gh auth token|gh auth status -t|gh secret list|gh gist create x|gh release create x|gh repo delete x|gh alias set a b|gh extension install x|gh pr view -R x.invalid/a/b 1|gh pr view 1 --web|gh codespace ssh
docker run x|docker exec x y|docker push x|docker build -t a https://x.invalid|docker build -t a github.com/a/b|docker build --secret id=x .|docker build --ssh default .|docker build --network host .|docker build -o x .|docker build --push .|docker build ..|docker build - |docker build -f /x .|docker compose down -v|docker compose exec a b|docker compose run a|docker compose -f ../x up|docker compose --env-file x up|docker -H x ps|docker --context x ps|docker cp a b|docker rm x|docker system prune|docker compose config
kubectl get secrets|kubectl get secret/x|kubectl get pods,secrets|kubectl get pods secret/x|kubectl describe secret x|kubectl delete pod x|kubectl apply -f x|kubectl exec x -- y|kubectl --kubeconfig x get pods|kubectl get pods --token x|kubectl get --raw /|kubectl get pods -o jsonpath-file=x|kubectl port-forward x 1|kubectl proxy|kubectl cp a b|kubectl edit x|kubectl get -f x|kubectl rollout restart x|kubectl config view --raw|helm install a b|helm get values x|helm template a --post-renderer x|helm lint ../x
terraform apply|terraform destroy|terraform -chdir=.. plan|terraform plan -var a=b|terraform plan -out=../x|terraform plan -out=main.tf|terraform plan -state=x|terraform init -backend-config=x|terraform init -plugin-dir=x|terraform output|terraform console|terraform plan -destroy|pulumi up|cdk deploy
python manage.py flush|python manage.py migrate --settings x|python manage.py migrate app zero x|python manage.py shell|python manage.py runserver 0.0.0.0:80|alembic downgrade base|alembic -c x upgrade head|rails db:drop|rails db:reset|rails db:rollback|rails db:seed|npx prisma migrate reset|npx prisma db push|php artisan migrate:fresh|php artisan db:wipe|dbmate -u x up|dbmate drop|flyway clean|migrate -database x up
npx vite --host 0.0.0.0|npx vite --config x|flask --app /x run|flask run --host 0.0.0.0|uvicorn x:y --host 0.0.0.0|nodemon x|php -S 0.0.0.0:80|php x.php|python -m http.server|rails server -b 0.0.0.0|npm run dev --prefix /x
npx eslint -c x .|npx eslint --rulesdir x .|npx eslint -o x .|npx eslint --resolve-plugins-relative-to x .|npx prettier --plugin x .|npx prettier --config x .|pylint --load-plugins=x a|pylint --init-hook=x a|pylint --rcfile=x a|flake8 --config x|black --config x .|mypy --config-file x .|mypy --install-types|ruff check --config x .|ruff format ../x|rubocop -r x|phpstan analyse -c x|npx tsc --outDir /x|npx tsc -p /x|gofmt -r x .|shellcheck --external-sources ../x|black /etc
rm -rf src|rm -rf .|rm -rf build ../x|rm -rf build/../src|rm -rf *|rm -rf /|rm -rf ~/build|rm -rf $x|make clean install|make install|make uninstall|make CC=x|make release|make publish|make deploy|cmake -P x|cmake -E rm x|cmake --install build|cmake --build build --target install|cmake -S . -B build -DCMAKE_C_COMPILER=x|cmake -S . -B build -DCMAKE_TOOLCHAIN_FILE=x|cmake -S . -B build -C x|mvn deploy|mvn exec:java|mvn install|gradle publish|./gradlew uploadArchives|bazel run //x|bazel build //x --spawn_strategy=x|swift package publish
`, "\n") {
		for command := range strings.SplitSeq(list, "|") {
			if d := decide(command, s); d.Verdict == yes {
				t.Errorf("Decide(%q) = allow (%s)", command, d.Reason)
			}
		}
	}
}
