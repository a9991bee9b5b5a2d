package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

func init() { commands["cel"] = celSelectors }

// celQuestion is one line of input: a selector and the devices to try it on.
type celQuestion struct {
	Expression string               `json:"expression"`
	IsNew      bool                 `json:"isNew"`
	Features   []string             `json:"features"`
	Driver     string               `json:"driver"`
	Devices    []resourceapi.Device `json:"devices"`
}

// celAnswer is one line of output. MaxCost is null where upstream knows no bound.
type celAnswer struct {
	CompileError string      `json:"compileError,omitempty"`
	Panic        string      `json:"panic,omitempty"`
	MaxCost      *uint64     `json:"maxCost"`
	Results      []celResult `json:"results"`
}

type celResult struct {
	Matches bool    `json:"matches"`
	Error   string  `json:"error,omitempty"`
	Cost    *uint64 `json:"cost"`
}

type selectorCompiler interface {
	CompileCELExpression(expression string, options dracel.Options) dracel.CompilationResult
}

// celSelectors compiles and evaluates selectors as the API server and the scheduler do.
func celSelectors(in io.Reader, out io.Writer) error {
	compilers := map[dracel.Features]selectorCompiler{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		var question celQuestion
		if err := json.Unmarshal(lines.Bytes(), &question); err != nil {
			return fmt.Errorf("question: %w", err)
		}
		features := dracel.Features{
			EnableConsumableCapacity: slices.Contains(question.Features, "DRAConsumableCapacity"),
			EnableListTypeAttributes: slices.Contains(question.Features, "DRAListTypeAttributes"),
		}
		compiler, known := compilers[features]
		if !known {
			compiler = dracel.GetCompiler(features)
			compilers[features] = compiler
		}
		if err := encoder.Encode(answerCEL(compiler, question)); err != nil {
			return err
		}
	}
	return lines.Err()
}

// answerCEL asks upstream, whose type checker panics on a few odd expressions.
func answerCEL(compiler selectorCompiler, question celQuestion) (answer celAnswer) {
	defer func() {
		if failure := recover(); failure != nil {
			answer = celAnswer{Panic: fmt.Sprint(failure), Results: []celResult{}}
		}
	}()
	environmentType := environment.StoredExpressions
	if question.IsNew {
		environmentType = environment.NewExpressions
	}
	compiled := compiler.CompileCELExpression(question.Expression, dracel.Options{EnvType: &environmentType})
	if compiled.Error != nil {
		return celAnswer{CompileError: compiled.Error.Detail, Results: []celResult{}}
	}
	answer = celAnswer{Results: make([]celResult, len(question.Devices))}
	if compiled.MaxCost != math.MaxUint64 {
		answer.MaxCost = &compiled.MaxCost
	}
	for i, device := range question.Devices {
		matches, details, err := compiled.DeviceMatches(context.Background(), dracel.Device{
			Driver:                   question.Driver,
			AllowMultipleAllocations: device.AllowMultipleAllocations,
			Attributes:               device.Attributes,
			Capacity:                 device.Capacity,
		})
		answer.Results[i] = celResult{Matches: matches}
		if details != nil {
			answer.Results[i].Cost = details.ActualCost()
		}
		if err != nil {
			answer.Results[i].Error = err.Error()
		}
	}
	return answer
}
