// Package intent knows which commands a prompt such as "run tests" means.
//
// A prompt is recognised only when one VERB + OBJECT rule consumes all of it; anything else is unknown and means nothing.
// What an intent covers is a table of schema programs (intents.json), and so is how it is called in English and Chinese:
// data that a person can read and extend.
//
// Some of these programs obey a file of the project: make its Makefile, npm its package.json. The table names such files,
// so that whoever knows the disk can tell whether they are still those that were approved.
package intent
