package main

import "k8s.io/dynamic-resource-allocation/structured"

// defaultFeatures are the gates that are on by default in Kubernetes 1.37.
var defaultFeatures = []string{
	"DRAAdminAccess",
	"DRAPrioritizedList",
	"DRAPartitionableDevices",
	"DRADeviceTaints",
	"DRADeviceBindingConditions",
	"DRAConsumableCapacity",
}

// featuresOf maps gates to the allocator's switches. Other gates change nothing in it.
func featuresOf(gates []string) structured.Features {
	var features structured.Features
	switches := map[string]*bool{
		"DRAAdminAccess":               &features.AdminAccess,
		"DRAPrioritizedList":           &features.PrioritizedList,
		"DRAPartitionableDevices":      &features.PartitionableDevices,
		"DRADeviceTaints":              &features.DeviceTaints,
		"DRADeviceBindingConditions":   &features.DeviceBindingAndStatus,
		"DRAConsumableCapacity":        &features.ConsumableCapacity,
		"DRAFractionalCapacityRange":   &features.FractionalCapacityRange,
		"DRAListTypeAttributes":        &features.ListTypeAttributes,
		"DRADerivedAttributes":         &features.DerivedAttributes,
		"DRADeviceCompatibilityGroups": &features.CompatibilityGroups,
		"DRAOptionalNodeOperations":    &features.OptionalNodeOperations,
	}
	for _, gate := range gates {
		if feature, known := switches[gate]; known {
			*feature = true
		}
	}
	return features
}
