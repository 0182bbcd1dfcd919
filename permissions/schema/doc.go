// Package schema says what a program's arguments mean. A [Program] is positive: it lists the flags, values and operands
// under which the program only does what its table promises, and every other argument is an error. Programs are data:
// readonly.json has those that only read, known.json names programs that write or run something, and the intents of
// permissions/intent are written in the same format. launchers.json has programs that start others, and parts.json flags
// that several have in common.
//
// # Format
//
// A table is a JSON array of programs. Unknown keys are errors. A program has
//
//	name      the bare name it is called by
//	flags     {"-n --lines": "count", "-v": ""}: the spellings of a flag, and the kind of its value ("" is none).
//	          "?kind" is a value that only an attached form carries (--color=always), "!kind" one that never is
//	          attached, "&kind" one with a name before it (--arg NAME VALUE). Short flags may be bundled.
//	number    the kind of a bare "-20" ("" is not allowed)
//	operands  kinds of the operands in order; the last may end with * (any number) or + (at least one)
//	unless    flags that take the first operand's place (grep -e PATTERN)
//	needs     flags of which one must be given (command -v)
//	onlyWith  flags without one of which there are no operands (git branch --list PATTERN)
//	commands  a table of subcommands by name; operands is then used only with bare
//	bare      it may be used without a subcommand, too
//	rest      what may follow a --: a program of its own
//	also      further names, with blanks between them
//	with      parts (parts.json) whose flags it has, too; its own hold
//	via       the families (launchers.json) of programs that may start it: npx, python -m, node_modules/.bin/
//	only      it is not started by its own name, but only by those
//	absent    names of files that it would obey: with one of them in its folder or above it is not covered
//	single    flags as Go writes them: -flag and --flag alike, values attached with = or in the next word, no bundles
//	grouped   operands stand together: one that follows a flag that follows operands is an error
//	wraps     the words after the operands are another command
//	fed       the wrapped command is given further words, from the input (xargs)
//	names     prints names, properties and sums of what it is given, and nothing of the content
//	assigns   leading NAME=value operands are environment prefixes of that command
//	git       the verdict depends on the repository's git configuration
//	foreign   the verdict holds in somebody else's shell too
//	plain     no word is a flag (echo)
//	noEnd     -- does not end the flags, and is refused (find)
//	leading   flags come before operands: what follows them is somebody else's (command)
//	greedy    flags that also take the words which follow their value, up to the next flag
//	tame      no argument may name another effect: deploy, publish, drop
//	guard     set by the intent: see the constants
//	globs     no flag of the program does harm, so that an operand may begin with a glob
//
// # Kinds
//
//	int count word text duration  values without reach, from strict to any literal
//	a|b|c                         one of these words; a* is any that begins so, ,a|b several with commas, ~a|b after a project of Gradle
//	npm pypi module composer      a package of a registry by name, with or without a version
//	branch label triple scope     a branch, a target of Bazel, a platform, a workspace of a monorepo
//	repo endpoint target kustom   owner/name, a path of an API, a resource that is no secret, an output format of kubectl
//	image setting listen          a name of an image, NAME=value, a port of this machine's own addresses
//	warning profile runtime       a filter of Python's warnings, a profile of a build, a version of an interpreter
//	pushed compose                a branch and nothing else to push, a file of docker compose
//	aim suite input               what a script is given, a path that says test, a path or the standard input
//	ldflags cmakevar              link flags and variables of CMake that name no program
//	context made                  the folder of an image's sources, a folder that builds and tests make
//	binary makes                  a program beside its sources or below a folder for what is made, a folder to make
//	commit                        a commit by its branch or number, or some before it
//	out report outdir             a file to write, below a folder for what is made; report also by a report's name, outdir such a folder
//	sbttest                       a task of sbt that compiles or tests
//	dir                           a path that the program changes to; given once
//	nodeid line                   a path with ::test or :line behind it
//	path                          a file or folder whose content is read
//	file                          a file whose content is read; of a folder the program would follow links
//	select                        a pattern of names of files whose content is read (grep --include)
//	meta                          a file or folder of which only the name and its properties are read
//	show                          printed as it is
//	rev                           a git revision, or a path
//	pretty                        a git log format that starts no program
//	ref                           a format or key of git's references that starts no program
//	printf sed awk jq yq          a script in that language that only prints
//	awkvar gitkey                 NAME=value of awk, a name in git's configuration that is no credential
//	inspect accept                a template of docker inspect without the environment, a header that changes nothing
//	perm                          permissions of a file, as find -perm has them
//	named                         a path that can be nothing else for the program: no @, + or : in it
//	listed                        a Go package pattern that is a path, or packages and modules by their import path
//	plus                          begins with +, as a format of date
//	symbol                        a Go package or symbol without a path
//	package                       a Go package pattern that is a path
//
// Paths are collected, not judged: whoever knows the working tree does that.
//
// What each table says to generated commands stands in permissions/testdata/tables.golden: after a change, -run
// TablesGolden -update, and read the difference. The mutation test (go test ./permissions -run SchemaMutation) changes
// every entry a little and wants 95 % of the changes seen there.
package schema
