// Package e2e holds the tests that run the whole program against a real Apache
// Kafka: each starts kcm as a process of its own, with the arguments that a user
// would type, and looks at what comes out of it, when, with which exit code, and
// what memory and processor time that took.
//
// The tests stand behind the build tag kafka:
//
//	go test -tags kafka ./internal/e2e
//
// What can be seen on embedded clusters too belongs to testscripts and to the
// packages themselves; here is what only a broker tells: other clients' bytes,
// elections, transactions, real listeners, dead machines. It has no code of its
// own and nothing may import it.
package e2e
