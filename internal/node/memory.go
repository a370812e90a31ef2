// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Memory is what a node says about its memory for items, in bytes.
type Memory struct {
	// Limit is what it may use, Allocated what it has taken. A limit that was lowered
	// frees nothing by itself.
	Limit, Allocated int64
}

// reassignPause is how long the thread that moves pages is given before it is asked
// for the next one.
const reassignPause = 2 * time.Millisecond

// Memory asks for it.
func (n *Conn) Memory(ctx context.Context) (Memory, error) {
	general, err := n.Stats(ctx, "")
	if err != nil {
		return Memory{}, err
	}
	slabs, err := n.Stats(ctx, "slabs")
	if err != nil {
		return Memory{}, err
	}
	limit, err := number(general, "limit_maxbytes")
	if err != nil {
		return Memory{}, err
	}
	allocated, err := number(slabs, "total_malloced")
	return Memory{Limit: limit, Allocated: allocated}, err
}

// SetMemoryLimit changes the limit, in mebibytes. Items are kept.
func (n *Conn) SetMemoryLimit(ctx context.Context, mebibytes int64) error {
	lines, err := n.Do(ctx, fmt.Sprintf("cache_memlimit %d", mebibytes), nil)
	if err != nil {
		return err
	}
	if lines[0] != "OK" {
		return &ReplyError{Command: "cache_memlimit", Reply: lines[0]}
	}
	return nil
}

// Shrink lowers the limit, in mebibytes, and takes pages from the classes that have most
// of them until memcached has given back what is above it. It may be called again after
// its context has ended, and goes on.
//
// The limit comes first: memcached frees a page only above it, and otherwise keeps it for
// whoever stores the next item, so that under load the work would never end. The price is
// that meanwhile a few items cannot be stored, in the class whose oldest page is moved.
func (n *Conn) Shrink(ctx context.Context, mebibytes int64) error {
	if err := n.SetMemoryLimit(ctx, mebibytes); err != nil {
		return err
	}
	for {
		slabs, err := n.Stats(ctx, "slabs")
		if err != nil {
			return err
		}
		allocated, err := number(slabs, "total_malloced")
		if err != nil {
			return err
		}
		excess := (allocated - mebibytes*pageSize + pageSize - 1) / pageSize
		class, pages := fattest(slabs)
		if excess <= 0 || pages < 2 {
			return nil
		}
		// Pages go one after the other; asking for several at once saves reading the
		// statistics after each.
		for range min(int64(pages)-1, 16, excess) {
			if err := n.reassign(ctx, class); err != nil {
				return err
			}
		}
	}
}

// pageSize is how much memcached takes and gives back at a time.
const pageSize = 1 << 20

// reassign frees one page of a class, with the items in it.
func (n *Conn) reassign(ctx context.Context, class int) error {
	for {
		lines, err := n.Do(ctx, fmt.Sprintf("slabs reassign %d 0", class), nil)
		if err != nil {
			return err
		}
		switch word, _, _ := strings.Cut(lines[0], " "); word {
		case "OK", "NOSPARE", "SAME", "BADCLASS": // done, or nothing to be had from this class
			return nil
		case "BUSY":
		default:
			return &ReplyError{Command: "slabs reassign", Reply: lines[0]}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(reassignPause):
		}
	}
}

// fattest is the class with most pages.
func fattest(slabs map[string]string) (class, pages int) {
	for name, value := range slabs {
		id, field, ok := strings.Cut(name, ":")
		if !ok || field != "total_pages" {
			continue
		}
		c, err := strconv.Atoi(id)
		p, err2 := strconv.Atoi(value)
		if errors.Join(err, err2) == nil && (p > pages || p == pages && c < class) {
			class, pages = c, p
		}
	}
	return class, pages
}

// Reads are how many times a node was asked for an item since it started, and how many
// times it had it.
type Reads struct {
	Gets, Hits int64
}

// Reads asks for them.
func (n *Conn) Reads(ctx context.Context) (Reads, error) {
	general, err := n.Stats(ctx, "")
	if err != nil {
		return Reads{}, err
	}
	gets, err := number(general, "cmd_get")
	if err != nil {
		return Reads{}, err
	}
	hits, err := number(general, "get_hits")
	return Reads{Gets: gets, Hits: hits}, err
}

// Flush makes all items of the node invalid.
func (n *Conn) Flush(ctx context.Context) error {
	lines, err := n.Do(ctx, "flush_all", nil)
	if err != nil {
		return err
	}
	if lines[0] != "OK" {
		return &ReplyError{Command: "flush_all", Reply: lines[0]}
	}
	return nil
}

func number(stats map[string]string, name string) (int64, error) {
	value, err := strconv.ParseInt(stats[name], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the statistic %s is %q", name, stats[name])
	}
	return value, nil
}
