// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package companion

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Sections of memcached's statistics.
const (
	general  = ""
	settings = "settings"
	items    = "items"
	slabs    = "slabs"

	// slabTotals are what the section slabs says about all classes together.
	slabTotals = "slabs, all"
)

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// row says which metric a statistic is. Names, labels and units are those of the
// Prometheus project's memcached_exporter, whose dashboards and alerts are in use.
type row struct {
	section, statistic string
	name               string // after memcached_
	kind               prometheus.ValueType
	help               string
	// labels are names and values in turn, beside node and, in items and slabs, slab.
	labels []string
	value  func(string) (float64, error)

	desc *prometheus.Desc
}

// table is every statistic that is a metric by itself.
var table = described(slices.Concat([]row{
	{general, "uptime", "uptime_seconds", counter, "Seconds since the node started.", nil, number, nil},
	{general, "time", "time_seconds", gauge, "The node's clock, in Unix time.", nil, number, nil},
	{general, "rusage_user", "process_user_cpu_seconds_total", counter, "CPU time that the node spent in user mode.", nil, number, nil},
	{general, "rusage_system", "process_system_cpu_seconds_total", counter, "CPU time that the node spent in the kernel.", nil, number, nil},
	{general, "bytes_read", "read_bytes_total", counter, "Bytes that the node read from the network.", nil, number, nil},
	{general, "bytes_written", "written_bytes_total", counter, "Bytes that the node sent to the network.", nil, number, nil},
	{general, "curr_connections", "current_connections", gauge, "Connections that are open.", nil, number, nil},
	{general, "total_connections", "connections_total", counter, "Connections that were opened.", nil, number, nil},
	{general, "rejected_connections", "connections_rejected_total", counter, "Connections that were refused because there were too many.", nil, number, nil},
	{general, "conn_yields", "connections_yielded_total", counter, "Times that a connection had to let others go first.", nil, number, nil},
	{general, "listen_disabled_num", "connections_listener_disabled_total", counter, "Times that the node stopped to accept because there were too many connections.", nil, number, nil},
	{general, "accepting_conns", "accepting_connections", gauge, "Whether the node accepts connections.", nil, number, nil},
	{general, "bytes", "current_bytes", gauge, "Bytes of the items that are stored.", nil, number, nil},
	{general, "limit_maxbytes", "limit_bytes", gauge, "Bytes that items may take.", nil, number, nil},
	{slabTotals, "total_malloced", "malloced_bytes", gauge, "Bytes of the memory that slab pages have.", nil, number, nil},
	{general, "curr_items", "current_items", gauge, "Items that are stored.", nil, number, nil},
	{general, "total_items", "items_total", counter, "Items that were stored since the node started.", nil, number, nil},
	{general, "evictions", "items_evicted_total", counter, "Valid items that were thrown away to make room.", nil, number, nil},
	{general, "reclaimed", "items_reclaimed_total", counter, "Items that took the place of an expired one.", nil, number, nil},
	{general, "store_too_large", "item_too_large_total", counter, "Items that were refused because they were too large.", nil, number, nil},
	{general, "store_no_memory", "item_no_memory_total", counter, "Items that were refused for want of memory.", nil, number, nil},
	{general, "direct_reclaims", "direct_reclaims_total", counter, "Times that a worker had to make room itself.", nil, number, nil},
	{general, "lru_crawler_starts", "lru_crawler_starts_total", counter, "Times that the LRU crawler started.", nil, number, nil},
	{general, "crawler_reclaimed", "lru_crawler_reclaimed_total", counter, "Items that the LRU crawler freed.", nil, number, nil},
	{general, "crawler_items_checked", "lru_crawler_items_checked_total", counter, "Items that the LRU crawler looked at.", nil, number, nil},
	{general, "moves_to_cold", "lru_crawler_moves_to_cold_total", counter, "Items that moved to a cold LRU.", nil, number, nil},
	{general, "moves_to_warm", "lru_crawler_moves_to_warm_total", counter, "Items that moved from a cold to a warm LRU.", nil, number, nil},
	{general, "moves_within_lru", "lru_crawler_moves_within_lru_total", counter, "Items that moved within a hot or warm LRU.", nil, number, nil},

	{settings, "maxconns", "max_connections", gauge, "Connections that may be open.", nil, number, nil},
	{settings, "lru_crawler", "lru_crawler_enabled", gauge, "Whether the LRU crawler runs.", nil, yesNo, nil},
	{settings, "lru_crawler_sleep", "lru_crawler_sleep", gauge, "Microseconds that the LRU crawler sleeps between items.", nil, number, nil},
	{settings, "lru_crawler_tocrawl", "lru_crawler_to_crawl", gauge, "Items that the LRU crawler looks at in a run.", nil, number, nil},
	{settings, "lru_maintainer_thread", "lru_crawler_maintainer_thread", gauge, "Whether a thread of its own looks after the LRUs.", nil, yesNo, nil},
	{settings, "hot_lru_pct", "lru_crawler_hot_percent", gauge, "Percentage of slab memory for the hot LRU.", nil, number, nil},
	{settings, "warm_lru_pct", "lru_crawler_warm_percent", gauge, "Percentage of slab memory for the warm LRU.", nil, number, nil},
	{settings, "hot_max_factor", "lru_crawler_hot_max_factor", gauge, "Age of hot items, as a factor of that of cold ones.", nil, number, nil},
	{settings, "warm_max_factor", "lru_crawler_warm_max_factor", gauge, "Age of warm items, as a factor of that of cold ones.", nil, number, nil},

	{items, "number", "slab_current_items", gauge, "Items that are stored in the slab class.", nil, number, nil},
	{items, "age", "slab_items_age_seconds", gauge, "Age of the oldest item of the slab class.", nil, number, nil},
	{items, "crawler_reclaimed", "slab_items_crawler_reclaimed_total", counter, "Items of the slab class that the LRU crawler freed.", nil, number, nil},
	{items, "evicted", "slab_items_evicted_total", counter, "Items that were thrown away before they expired.", nil, number, nil},
	{items, "evicted_nonzero", "slab_items_evicted_nonzero_total", counter, "Items with an explicit time to live that were thrown away before they expired.", nil, number, nil},
	{items, "evicted_time", "slab_items_evicted_time_seconds", counter, "Seconds since the last access of the item thrown away last.", nil, number, nil},
	{items, "evicted_unfetched", "slab_items_evicted_unfetched_total", counter, "Items that were thrown away and never read.", nil, number, nil},
	{items, "expired_unfetched", "slab_items_expired_unfetched_total", counter, "Items that expired and were never read.", nil, number, nil},
	{items, "outofmemory", "slab_items_outofmemory_total", counter, "Items that the slab class had no memory for.", nil, number, nil},
	{items, "reclaimed", "slab_items_reclaimed_total", counter, "Items that took the place of an expired one.", nil, number, nil},
	{items, "tailrepairs", "slab_items_tailrepairs_total", counter, "Times that the slab class had to be repaired.", nil, number, nil},
	{items, "moves_to_cold", "slab_items_moves_to_cold", counter, "Items that moved to the cold LRU.", nil, number, nil},
	{items, "moves_to_warm", "slab_items_moves_to_warm", counter, "Items that moved to the warm LRU.", nil, number, nil},
	{items, "moves_within_lru", "slab_items_moves_within_lru", counter, "Items that moved within the hot or warm LRU.", nil, number, nil},
	{items, "number_hot", "slab_hot_items", gauge, "Items in the hot LRU.", nil, number, nil},
	{items, "number_warm", "slab_warm_items", gauge, "Items in the warm LRU.", nil, number, nil},
	{items, "number_cold", "slab_cold_items", gauge, "Items in the cold LRU.", nil, number, nil},
	{items, "number_temp", "slab_temporary_items", gauge, "Items in the temporary LRU.", nil, number, nil},
	{items, "age_hot", "slab_hot_age_seconds", gauge, "Age of the oldest item in the hot LRU.", nil, number, nil},
	{items, "age_warm", "slab_warm_age_seconds", gauge, "Age of the oldest item in the warm LRU.", nil, number, nil},
	// memcached 1.5 moved it here from the slabs. The exporter calls it a counter, and it falls.
	{items, "mem_requested", "slab_mem_requested_bytes", gauge, "Bytes that the items of the slab class take.", nil, number, nil},

	{slabs, "chunk_size", "slab_chunk_size_bytes", gauge, "Bytes of a chunk of the slab class.", nil, number, nil},
	{slabs, "chunks_per_page", "slab_chunks_per_page", gauge, "Chunks in a page of the slab class.", nil, number, nil},
	{slabs, "total_pages", "slab_current_pages", gauge, "Pages of the slab class.", nil, number, nil},
	{slabs, "total_chunks", "slab_current_chunks", gauge, "Chunks of the slab class.", nil, number, nil},
	{slabs, "used_chunks", "slab_chunks_used", gauge, "Chunks with an item.", nil, number, nil},
	{slabs, "free_chunks", "slab_chunks_free", gauge, "Chunks without an item.", nil, number, nil},
	{slabs, "free_chunks_end", "slab_chunks_free_end", gauge, "Chunks without an item at the end of the last page.", nil, number, nil},
},
	commands(),
	slabCommands(),
	lruHits(),
	extstore(),
))

const commandsHelp = "Requests by command and outcome."

// commands are all but set, which no statistic counts by itself.
func commands() []row {
	var rows []row
	for _, command := range []string{"get", "delete", "incr", "decr", "cas", "touch"} {
		rows = append(rows,
			row{general, command + "_hits", "commands_total", counter, commandsHelp, []string{"command", command, "status", "hit"}, number, nil},
			row{general, command + "_misses", "commands_total", counter, commandsHelp, []string{"command", command, "status", "miss"}, number, nil})
	}
	return append(rows,
		row{general, "cas_badval", "commands_total", counter, commandsHelp, []string{"command", "cas", "status", "badval"}, number, nil},
		row{general, "cmd_flush", "commands_total", counter, commandsHelp, []string{"command", "flush", "status", "hit"}, number, nil})
}

// slabCommands are those that a slab class knows.
func slabCommands() []row {
	var rows []row
	for _, command := range []string{"get", "delete", "incr", "decr", "cas", "touch"} {
		rows = append(rows, row{slabs, command + "_hits", "slab_commands_total", counter, commandsHelp, []string{"command", command, "status", "hit"}, number, nil})
	}
	return append(rows, row{slabs, "cas_badval", "slab_commands_total", counter, commandsHelp, []string{"command", "cas", "status", "badval"}, number, nil})
}

func lruHits() []row {
	var rows []row
	for statistic, lru := range map[string]string{"hits_to_hot": "hot", "hits_to_warm": "warm", "hits_to_cold": "cold", "hits_to_temp": "temporary"} {
		rows = append(rows, row{items, statistic, "slab_lru_hits_total", counter, "Reads of items by the LRU that they were in.", []string{"lru", lru}, number, nil})
	}
	return rows
}

// extstore are the statistics of items on disk, which a node has only if it is told to.
func extstore() []row {
	return []row{
		{general, "extstore_compact_lost", "extstore_compact_lost_total", counter, "Items lost in a compaction because they were locked.", nil, number, nil},
		{general, "extstore_compact_rescues", "extstore_compact_rescued_total", counter, "Items moved to a new page in a compaction.", nil, number, nil},
		{general, "extstore_compact_skipped", "extstore_compact_skipped_total", counter, "Items dropped in a compaction because nobody used them.", nil, number, nil},
		{general, "extstore_page_allocs", "extstore_pages_allocated_total", counter, "Pages that were taken into use.", nil, number, nil},
		{general, "extstore_page_evictions", "extstore_pages_evicted_total", counter, "Pages that were thrown away.", nil, number, nil},
		{general, "extstore_page_reclaims", "extstore_pages_reclaimed_total", counter, "Empty pages that were freed.", nil, number, nil},
		{general, "extstore_pages_free", "extstore_pages_free", gauge, "Pages without items.", nil, number, nil},
		{general, "extstore_pages_used", "extstore_pages_used", gauge, "Pages with items.", nil, number, nil},
		{general, "extstore_objects_evicted", "extstore_objects_evicted_total", counter, "Items on disk that were thrown away to make room.", nil, number, nil},
		{general, "extstore_objects_read", "extstore_objects_read_total", counter, "Items read from disk.", nil, number, nil},
		{general, "extstore_objects_written", "extstore_objects_written_total", counter, "Items written to disk.", nil, number, nil},
		{general, "extstore_objects_used", "extstore_objects_used", gauge, "Items on disk.", nil, number, nil},
		{general, "extstore_bytes_evicted", "extstore_bytes_evicted_total", counter, "Bytes on disk that were thrown away to make room.", nil, number, nil},
		{general, "extstore_bytes_written", "extstore_bytes_written_total", counter, "Bytes written to disk.", nil, number, nil},
		{general, "extstore_bytes_read", "extstore_bytes_read_total", counter, "Bytes read from disk.", nil, number, nil},
		{general, "extstore_bytes_used", "extstore_bytes_used", counter, "Bytes of items on disk.", nil, number, nil},
		{general, "extstore_bytes_fragmented", "extstore_bytes_fragmented", gauge, "Bytes on disk in use by no item.", nil, number, nil},
		{general, "extstore_limit_maxbytes", "extstore_bytes_limit", gauge, "Bytes that items on disk may take.", nil, number, nil},
		{general, "extstore_io_queue", "extstore_io_queue_depth", gauge, "Items that wait to be read or written.", nil, number, nil},
	}
}
