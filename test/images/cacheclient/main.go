// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cacheclient is a client of memcached for tests. It runs in a pod, where
// Services can be reached, and prints what it has found as JSON.
//
//	cacheclient check HOST:PORT NODES
//	  stores and reads keys through the name, spread over the nodes, and through each node
//	cacheclient fill HOST:PORT CONNECTIONS VALUEBYTES
//	  opens connections and fills the one node until it throws items away
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("usage: cacheclient check HOST:PORT NODES | fill HOST:PORT CONNECTIONS VALUEBYTES")
	}
	numbers := make([]int, 0, 2)
	for _, arg := range args[2:] {
		number, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		numbers = append(numbers, number)
	}
	var result any
	var err error
	switch {
	case args[0] == "check" && len(numbers) == 1:
		result, err = check(args[1], numbers[0])
	case args[0] == "fill" && len(numbers) == 2:
		result, err = fill(args[1], numbers[0], numbers[1])
	default:
		err = fmt.Errorf("unknown command %q", args)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}
