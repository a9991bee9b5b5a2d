package main

import resourceapi "k8s.io/api/resource/v1"

// setDefaults fills what kubectl and the API server fill when a claim is created.
func setDefaults(claim *resourceapi.ResourceClaim) {
	if claim.Namespace == "" {
		claim.Namespace = "default"
	}
	requests := claim.Spec.Devices.Requests
	for i := range requests {
		if exactly := requests[i].Exactly; exactly != nil {
			setMode(&exactly.AllocationMode, &exactly.Count)
			setOperators(exactly.Tolerations)
		}
		for j := range requests[i].FirstAvailable {
			alternative := &requests[i].FirstAvailable[j]
			setMode(&alternative.AllocationMode, &alternative.Count)
			setOperators(alternative.Tolerations)
		}
	}
}

func setMode(mode *resourceapi.DeviceAllocationMode, count *int64) {
	if *mode == "" {
		*mode = resourceapi.DeviceAllocationModeExactCount
	}
	if *mode == resourceapi.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
}

func setOperators(tolerations []resourceapi.DeviceToleration) {
	for i := range tolerations {
		if tolerations[i].Operator == "" {
			tolerations[i].Operator = resourceapi.DeviceTolerationOpEqual
		}
	}
}
