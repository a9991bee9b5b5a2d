// Command cdi-reference answers with the code that container runtimes have for CDI.
//
// It reads one JSON object a line and writes one a line. {"file": "..."} is judged as a runtime
// does when it reads a directory: {"error": "..."} or {}. {"directories": [...], "devices": [...]}
// is answered with what a runtime would add to an empty container: {"container": {...}}.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

type question struct {
	File        string   `json:"file"`
	Directories []string `json:"directories"`
	Devices     []string `json:"devices"`
}

type answer struct {
	Error     string    `json:"error,omitempty"`
	Container *oci.Spec `json:"container,omitempty"`
}

func main() {
	questions := json.NewDecoder(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for questions.More() {
		var asked question
		err := questions.Decode(&asked)
		if err == nil {
			err = answers.Encode(reply(asked))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
}

func reply(asked question) answer {
	if asked.File != "" {
		return failed(judge(asked.File))
	}
	container, err := inject(asked.Directories, asked.Devices)
	if err != nil {
		return failed(err)
	}
	return answer{Container: container}
}

// A file may also bring the library down, and with it the runtime that reads it.
func judge(file string) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	_, err = cdi.ReadSpec(file, 0)
	return err
}

func inject(directories, devices []string) (*oci.Spec, error) {
	cache, err := cdi.NewCache(cdi.WithSpecDirs(directories...), cdi.WithAutoRefresh(false))
	if err != nil {
		return nil, err
	}
	container := &oci.Spec{}
	unresolved, err := cache.InjectDevices(container, devices...)
	if len(unresolved) > 0 {
		return nil, fmt.Errorf("unresolvable CDI devices %s", strings.Join(unresolved, ", "))
	}
	return container, err
}

func failed(err error) answer {
	if err == nil {
		return answer{}
	}
	return answer{Error: err.Error()}
}
