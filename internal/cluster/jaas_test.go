package cluster

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseJAAS(t *testing.T) {
	for text, want := range map[string]jaasEntry{
		`a.b.PlainLoginModule required username="u" password="p";`: {module: "a.b.PlainLoginModule", options: map[string]string{"username": "u", "password": "p"}},
		`M REQUIRED;`: {module: "M", options: map[string]string{}},
		"M required\n  user='a\"b' // comment ; \n /* x ; */ n=12.5 b=true ;": {module: "M", options: map[string]string{"user": `a"b`, "n": "12.5", "b": "true"}},
		`M required p="a\"b\\c\td\101\0e;=" q="";`:                            {module: "M", options: map[string]string{"p": "a\"b\\c\tdA\x00e;=", "q": ""}},
		`M optional "quoted key"=v;`:                                          {module: "M", options: map[string]string{"quoted key": "v"}},
		`M required principal="a/b@R" keyTab="/x y/z.keytab" p=é-ü_$;`:        {module: "M", options: map[string]string{"principal": "a/b@R", "keyTab": "/x y/z.keytab", "p": "é-ü_$"}},
	} {
		got, err := parseJAAS(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v, %v\nwant %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		``:                           "expected a login module",
		`"M" required;`:              "expected a login module",
		`M`:                          "expected required, requisite, sufficient or optional behind the login module",
		`M username="CANARY";`:       "behind the login module comes required, requisite, sufficient or optional",
		`M required a="CANARY"`:      "the semicolon at the end is missing",
		`M required a CANARY;`:       "an option has no = and value (a value with other than letters and digits is quoted)",
		`M required a=;`:             "an option has no value",
		`M required a="CANARY;`:      "a string has no end",
		"M required a=\"CAN\nARY\";": "a string goes over the end of the line",
		`M required a="CANARY\`:      "a string has no end",
		`M required a=p@CANARY;`:     "expected an option or a semicolon, found @",
		`M required; N required;`:    "one login module is allowed, there is more behind the semicolon",
		`M required /* ;`:            "a comment has no end",
	} {
		_, err := parseJAAS(text)
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func FuzzJAAS(f *testing.F) {
	for _, s := range []string{`M required a="b" c='d' e=f;`, `M required p="\101\"" /* x */;`, `M optional // c`, "M required a=é;", `M required a="\400";`} {
		f.Add(s)
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`)
	f.Fuzz(func(t *testing.T, s string) {
		e, err := parseJAAS(s)
		if err != nil {
			return
		}
		// What was read can be written in quotes and is read again.
		var b strings.Builder
		b.WriteString(e.module + " required")
		for k, v := range e.options {
			b.WriteString(` "` + quote.Replace(k) + `"="` + quote.Replace(v) + `"`)
		}
		again, err := parseJAAS(b.String() + ";")
		if err != nil || !reflect.DeepEqual(again.options, e.options) {
			t.Fatalf("%q -> %q: %v, %+v", s, b.String(), err, again)
		}
	})
}
