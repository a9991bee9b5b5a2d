package main

import (
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// classLister answers for classes as the scheduler's informer does.
type classLister map[string]*resourceapi.DeviceClass

func (l classLister) List() ([]*resourceapi.DeviceClass, error) {
	return slices.Collect(maps.Values(l)), nil
}

func (l classLister) Get(name string) (*resourceapi.DeviceClass, error) {
	class, found := l[name]
	if !found {
		return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclasses"), name)
	}
	return class, nil
}
