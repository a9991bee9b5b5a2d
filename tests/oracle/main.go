// Command oracle answers with Kubernetes' own code what DRA Console answers with its own.
package main

import (
	"fmt"
	"io"
	"os"
)

// commands maps each sub-command to the function that reads its input and writes its answers.
var commands = map[string]func(in io.Reader, out io.Writer) error{
	"batch": batch,
	"bench": bench,
}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
}

func run(arguments []string, in io.Reader, out io.Writer) error {
	if len(arguments) != 1 {
		return fmt.Errorf("expected one sub-command, got %q", arguments)
	}
	command, known := commands[arguments[0]]
	if !known {
		return fmt.Errorf("unknown sub-command %q", arguments[0])
	}
	return command(in, out)
}
