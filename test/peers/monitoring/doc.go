// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring checks config/monitoring with Prometheus' own parser.
package monitoring
