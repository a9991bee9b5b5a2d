package main

import (
	"errors"
	"io"

	_ "k8s.io/dynamic-resource-allocation/structured"
)

func batch(in io.Reader, out io.Writer) error { return errors.New("not written yet") }
