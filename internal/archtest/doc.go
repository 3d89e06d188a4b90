// Package archtest holds the tests that keep the house as docs/architecture.md
// draws it: who may import whom, which library has which owner, how long a file
// may grow. It has no code of its own and nothing may import it.
package archtest
