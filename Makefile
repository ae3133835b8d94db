# Everything a user or developer runs. The steps themselves are in tools/.
BUILD ?= build
CMAKE_FLAGS ?= -DCMAKE_BUILD_TYPE=Release

.PHONY: all program configure demo check test wheel docs bench soak format lint coverage help clean
all: configure                ## build the program, build/bin/quantc, and the library: what cmake --install needs
	cmake --build $(BUILD) --target quantc quantc_library

configure:
	@tools/setup build
	@test -f $(BUILD)/build.ninja || cmake -S . -B $(BUILD) -G Ninja $(CMAKE_FLAGS)

program: configure
	cmake --build $(BUILD) --target quantc

demo: program                 ## compile the digits classifier to C, build it, run it on the test images
	@tools/demo $(BUILD)

test: configure               ## build everything and run all tests
	@tools/setup test
	@tools/run_tests $(BUILD)

check: configure              ## build and run the quick tests: less than a minute after the build
	@tools/setup test
	@cmake --build $(BUILD)
	@ctest --test-dir $(BUILD) --output-on-failure -j2 --no-tests=error -LE slow

wheel: all                    ## the Python package as a wheel that runs on other machines: build/wheel/repaired/
	@tools/setup test
	@tools/venv test
	@tools/wheel $(BUILD) repair
	@ls $(BUILD)/wheel/repaired/*.whl

docs: all                     ## all pages as a site with search: build/site/html/
	@tools/venv docs
	@.venv/bin/python tools/docs_site $(BUILD)

bench: all                    ## speed, compile time and memory, side by side with others
	@tools/venv test bench
	@tools/run_bench $(BUILD)

soak: configure               ## the long runs: fuzzing, many random graphs, many architectures
	@tools/setup test
	@tools/venv test soak
	@tools/run_soak $(BUILD)

format:                       ## format all C and C++ files in place
	@tools/setup test
	@tools/sources | xargs clang-format -i

lint: configure               ## formatting, layering, file sizes; clang-tidy on changed files
	@tools/setup test
	@tools/lint $(BUILD)

coverage:                     ## line coverage of src/ by all tests
	@tools/setup build test
	@tools/coverage build-coverage

help:                         ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 20

clean:                        ## remove build folders (the virtual environment stays)
	rm -rf $(BUILD) build-coverage build-fuzz build-asan
