package main

import (
	"encoding/json"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/dynamic-resource-allocation/api/metadata"
	"k8s.io/dynamic-resource-allocation/devicemetadata"
)

func init() { commands["metadata"] = readMetadata }

// readMetadata reads a file about a claim's devices as a workload does, with validation, and
// writes what it took from it.
func readMetadata(in io.Reader, out io.Writer) error {
	var read metadata.DeviceMetadata
	var invalid error
	var version schema.GroupVersionKind
	err := devicemetadata.DecodeMetadataFromStream(
		json.NewDecoder(in),
		&read,
		devicemetadata.DecodeMetadataWithValidationResult(&invalid),
		devicemetadata.DecodeMetadataStoreGVKResult(&version),
	)
	if err != nil {
		return err
	}
	if invalid != nil {
		return fmt.Errorf("invalid: %w", invalid)
	}
	return json.NewEncoder(out).Encode(map[string]any{
		"apiVersion":   version.GroupVersion().String(),
		"name":         read.Name,
		"generation":   read.Generation,
		"podClaimName": read.PodClaimName,
		"requests":     read.Requests,
	})
}
