//go:build consumer

package main

import "github.com/twmb/franz-go/pkg/kgo"

func init() { ofProtocol = []kgo.Opt{kgo.ServerSideBalancer()} }
