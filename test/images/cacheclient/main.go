// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cacheclient is a client of memcached for tests. It runs in a pod, where
// Services can be reached, and prints what it has found as JSON.
//
//	cacheclient check HOST:PORT NODES
//	  stores and reads keys through the name, spread over the nodes, and through each node
//	cacheclient fill HOST:PORT CONNECTIONS VALUEBYTES
//	  opens connections and fills the one node until it throws items away
//	cacheclient scan HOST PORTS
//	  tries the ports from 1 on, and tells what those that are open say to a stranger
//	cacheclient load HOST:PORT,... ITEMS BATCHES SECONDS REFILL
//	  fills the nodes with items, then reads so many batches of them in a second, and
//	  with a REFILL of 1 stores again what it misses; tests ask at port 9090, see
//	  control. If a certificate is mounted at /secrets/tls, or users are at /secrets/auth,
//	  they are read for each new connection
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("usage: cacheclient check HOST:PORT NODES | fill HOST:PORT CONNECTIONS VALUEBYTES | scan HOST PORTS | " +
			"load HOST:PORT,... ITEMS BATCHES SECONDS REFILL")
	}
	numbers := make([]int, 0, 4)
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
	case args[0] == "scan" && len(numbers) == 1:
		result, err = scan(args[1], numbers[0])
	case args[0] == "load" && len(numbers) == 4:
		return runLoad(strings.Split(args[1], ","), numbers[0], numbers[1], numbers[2], numbers[3] == 1)
	default:
		err = fmt.Errorf("unknown command %q", args)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}
