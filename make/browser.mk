# The maintenance page in a real browser. Screenshots go to bin/screenshots.

.PHONY: test-browser
test-browser: ## The maintenance page in headless Chromium: looks, accessibility, behavior (FOCUS=<test name>)
	@axe=$$(hack/browser.sh) && cd test/browser && \
	  AXE_CORE=$$axe SCREENSHOTS=$(CURDIR)/bin/screenshots $(GO_TEST) -count=1 ./... $(if $(FOCUS),-run '$(FOCUS)')
