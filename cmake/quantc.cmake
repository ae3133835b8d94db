# Helpers of the build: one static library per folder of src/, generated op and kernel lists.

# Flags every target of quantc is compiled with. Float contraction stays off: the reference
# arithmetic says fma where it means fma.
add_library(qc_flags INTERFACE)
target_include_directories(qc_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}
                                              ${PROJECT_SOURCE_DIR}/include
                                              ${PROJECT_BINARY_DIR}/generated)
# gcc 12 warns of overlaps that cannot be (-Wrestrict) in inlined std::string code.
target_compile_options(qc_flags INTERFACE -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> -ffp-contract=off)
if(QUANTC_SANITIZE)
  target_compile_options(qc_flags INTERFACE -fsanitize=${QUANTC_SANITIZE} -fno-omit-frame-pointer
                                            -fno-sanitize-recover=all)
  target_link_options(qc_flags INTERFACE -fsanitize=${QUANTC_SANITIZE})
endif()
if(QUANTC_FUZZ)
  target_compile_options(qc_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(QUANTC_COVERAGE)
  target_compile_definitions(qc_flags INTERFACE QC_COVERAGE)
  target_compile_options(qc_flags INTERFACE --coverage -O0)
  target_link_options(qc_flags INTERFACE --coverage)
endif()

# qc_hot(TARGET): releases compile it with -O2. For code that loops over the elements of tensors.
function(qc_hot target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
endfunction()

# qc_library(NAME [FOLDER dir] [DEPENDS lib ...] [ALONE file ...]): the library qc_NAME from every .cpp
# in src/NAME (or FOLDER). Names in DEPENDS that are folders of src/ mean their libraries. Files are
# compiled ten at a time (unity build), since headers and templates cost most of the time. ALONE names
# files, without .cpp, whose local names are also those of another file.
function(qc_library name)
  cmake_parse_arguments(ARG "" "FOLDER" "DEPENDS;ALONE" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${PROJECT_SOURCE_DIR}/src/${name})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_FOLDER}/*.cpp)
  add_library(qc_${name} STATIC ${sources})
  target_link_libraries(qc_${name} PUBLIC qc_flags)
  set_target_properties(qc_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
  foreach(file IN LISTS ARG_ALONE)
    if(NOT EXISTS ${ARG_FOLDER}/${file}.cpp)
      message(FATAL_ERROR "${ARG_FOLDER} has no ${file}.cpp, which is listed behind ALONE")
    endif()
    set_property(SOURCE ${ARG_FOLDER}/${file}.cpp PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
  foreach(dep IN LISTS ARG_DEPENDS)
    if(TARGET qc_${dep})
      target_link_libraries(qc_${name} PUBLIC qc_${dep})
    else()
      target_link_libraries(qc_${name} PUBLIC ${dep})
    endif()
  endforeach()
endfunction()

# qc_test(NAME [SLOW] [SOURCES file ...] [DEPENDS lib ...] [ARGS arg ...]): a GoogleTest program, by
# default from tests/unit/NAME.cpp, run from the top of the source tree as one ctest entry. `make
# check` leaves out those that are SLOW.
function(qc_test name)
  cmake_parse_arguments(ARG "SLOW" "" "SOURCES;DEPENDS;ARGS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${PROJECT_SOURCE_DIR}/tests/unit/${name}.cpp)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE qc_flags GTest::gtest_main)
  foreach(dep IN LISTS ARG_DEPENDS)
    if(TARGET qc_${dep})
      set(dep qc_${dep})
    endif()
    target_link_libraries(${name} PRIVATE ${dep})
  endforeach()
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(ARG_SLOW)
    set_tests_properties(${name} PROPERTIES LABELS slow)
  endif()
endfunction()

# qc_fuzz(NAME [DEPENDS lib ...] [ARGS path ...]): the fuzz target tests/fuzz/fuzz_NAME.cpp. With
# QUANTC_FUZZ it is linked with libFuzzer; otherwise it replays ARGS as one ctest entry.
function(qc_fuzz name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;ARGS" ${ARGN})
  add_executable(fuzz_${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_${name}.cpp)
  target_link_libraries(fuzz_${name} PRIVATE qc_flags)
  foreach(dep IN LISTS ARG_DEPENDS)
    target_link_libraries(fuzz_${name} PRIVATE qc_${dep})
  endforeach()
  if(QUANTC_FUZZ)
    target_compile_definitions(fuzz_${name} PRIVATE QC_LIBFUZZER)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_test(NAME fuzz_${name} COMMAND fuzz_${name} ${ARG_ARGS}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  endif()
endfunction()

# qc_kernels(): the library qc_kernels, the portable kernels with the tables made from kernels/*/.
function(qc_kernels)
  set(out ${PROJECT_BINARY_DIR}/generated/kernels)
  set(roots ${PROJECT_SOURCE_DIR} ${QUANTC_EXTRA_KERNELS})
  set(inputs)
  set(lists)
  foreach(root IN LISTS roots)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${root}/kernels/* ${root}/runtime/*)
    list(APPEND inputs ${found})
    file(GLOB found CONFIGURE_DEPENDS ${root}/kernels/*/kernels.sig)
    list(APPEND lists ${found})
    file(GLOB found CONFIGURE_DEPENDS ${root}/kernels/isa.table)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${found})
  endforeach()
  set(tables)
  foreach(list IN LISTS lists)
    get_filename_component(folder ${list} DIRECTORY)
    get_filename_component(family ${folder} NAME)
    list(APPEND tables ${out}/${family}_table.c)
    string(FIND ${list} ${PROJECT_SOURCE_DIR}/kernels/ within)
    if(NOT within EQUAL 0)
      set_property(SOURCE ${out}/${family}_table.c PROPERTY INCLUDE_DIRECTORIES ${QUANTC_EXTRA_KERNELS})
    endif()
  endforeach()
  set(script ${PROJECT_SOURCE_DIR}/cmake/kernel_tables.py)
  set(arguments ${out} ${roots})
  if(QUANTC_PORTABLE_ONLY)
    list(PREPEND arguments --portable-only)
  endif()
  # Which tables of bodies for machines there are is known when the build is set up.
  execute_process(COMMAND ${Python3_EXECUTABLE} ${script} ${arguments} COMMAND_ERROR_IS_FATAL ANY)
  include(${out}/isa.cmake)
  add_custom_command(
    OUTPUT ${out}/stamp
    BYPRODUCTS ${tables} ${out}/folders.inc ${out}/sources.inc
    COMMAND Python3::Interpreter ${script} ${arguments}
    COMMAND ${CMAKE_COMMAND} -E touch ${out}/stamp
    DEPENDS ${script} ${PROJECT_SOURCE_DIR}/cmake/isa_tables.py ${PROJECT_SOURCE_DIR}/cmake/kernel_chunks.py
            ${PROJECT_SOURCE_DIR}/cmake/c_macros.py ${inputs})
  add_custom_target(qc_kernel_tables DEPENDS ${out}/stamp)
  qc_kernel_builds(${out})
  qc_dot_kernels(${out})
  qc_machine_kernels(${out})
  add_library(qc_kernels STATIC ${PROJECT_SOURCE_DIR}/kernels/kernels.cpp ${PROJECT_SOURCE_DIR}/kernels/added.cpp ${tables})
  add_dependencies(qc_kernels qc_kernel_tables)
  target_link_libraries(qc_kernels PUBLIC qc_flags m)
  foreach(build IN LISTS QC_KERNEL_BUILDS QC_MACHINE_KERNELS ITEMS mul_add)
    target_sources(qc_kernels PRIVATE $<TARGET_OBJECTS:qc_kernels_${build}>)
  endforeach()
endfunction()

# qc_machine_kernels(OUT): the bodies for machines that this compiler builds for, so that quantc can
# run them where the processor can. OUT/runnable.inc lists them, QC_MACHINE_KERNELS names the object
# libraries.
function(qc_machine_kernels out)
  qc_isas(qc_isas machines)
  set(lines "")
  set(names)
  foreach(machine IN LISTS qc_isas_any machines)
    set(sources)
    file(STRINGS ${out}/machines.inc rows REGEX "QK_MACHINE\\([a-z0-9_]+, ${machine}\\)")
    foreach(row IN LISTS rows)
      string(REGEX REPLACE "QK_MACHINE\\(([a-z0-9_]+), .*" "\\1" folder ${row})
      list(APPEND sources ${out}/${folder}_${machine}_table.c)
      string(APPEND lines "QK_RUNNABLE(${folder}, ${machine}, \"${qc_isa_needs_${machine}}\")\n")
    endforeach()
    if(NOT sources)
      continue()
    endif()
    list(APPEND names machine_${machine})
    add_library(qc_kernels_machine_${machine} OBJECT ${sources})
    add_dependencies(qc_kernels_machine_${machine} qc_kernel_tables)
    target_link_libraries(qc_kernels_machine_${machine} PUBLIC qc_flags)
    target_compile_options(qc_kernels_machine_${machine} PRIVATE -O2 ${qc_isa_flags_${machine}})
  endforeach()
  file(CONFIGURE OUTPUT ${out}/runnable.inc CONTENT "${lines}" @ONLY)
  set(QC_MACHINE_KERNELS ${names} PARENT_SCOPE)
endfunction()

# qc_isas(LIST RESULT): the instruction sets in ${LIST}_PROCESSOR of the table (kernels/isa.table) for
# the processor and compiler of this build.
function(qc_isas list result)
  set(${result} PARENT_SCOPE)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    return()
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(${result} ${${list}_x86_64} PARENT_SCOPE)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(${result} ${${list}_aarch64} PARENT_SCOPE)
  endif()
endfunction()

# qc_variants(): the host files of variants, part of the library qc_program; which, kernel_tables.py says.
function(qc_variants)
  file(STRINGS ${PROJECT_BINARY_DIR}/generated/kernels/variants.inc listed)
  set(sources)
  foreach(root IN ITEMS ${PROJECT_SOURCE_DIR} ${QUANTC_EXTRA_KERNELS})
    file(GLOB found CONFIGURE_DEPENDS ${root}/kernels/*/*.variant.cpp)
    foreach(source IN LISTS found)
      string(REGEX REPLACE ".*/([a-z0-9_]+)/([a-z0-9_]+)\\.variant\\.cpp$" "QC_VARIANTS(\\1_\\2)" row ${source})
      if(row IN_LIST listed)
        list(APPEND sources ${source})
      endif()
    endforeach()
    if(NOT root STREQUAL PROJECT_SOURCE_DIR AND found)
      set_property(SOURCE ${found} PROPERTY INCLUDE_DIRECTORIES ${root})
    endif()
  endforeach()
  set_property(SOURCE ${sources} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)  # their names are local to one kernel
  target_sources(qc_program PRIVATE ${sources})
endfunction()

# qc_kernel_builds(OUT): the families that compute most of a network, of floats or of codes, built
# again for the vector instructions a machine may have; kernels.cpp chooses when it runs. Those left
# out cost more time to build than they would save. OUT/builds.inc lists them, QC_KERNEL_BUILDS names
# the object libraries.
function(qc_kernel_builds out)
  qc_isas(qc_rebuilds builds)  # the later, the better
  set(lines "")
  foreach(build IN LISTS builds)
    set(sources)
    set(names)
    foreach(family activation attention conv gemm norm pool qattention qbinary qconv qgemm qrnn qsoftmax quantize rnn rotary softmax
            strided unary wconv)
      list(APPEND sources ${out}/${family}_table.c)
      list(APPEND names qk_kernels_${family}=qk_kernels_${family}_${build} qk_kernel_count_${family}=qk_kernel_count_${family}_${build} qk_bodies_${family}=qk_bodies_${family}_${build}
           qk_body_count_${family}=qk_body_count_${family}_${build})
      string(APPEND lines "QK_ISA_BUILD(${build}, ${family}, \"${qc_isa_needs_${build}}\")\n")
    endforeach()
    add_library(qc_kernels_${build} OBJECT ${sources})
    add_dependencies(qc_kernels_${build} qc_kernel_tables)
    target_link_libraries(qc_kernels_${build} PUBLIC qc_flags)
    target_compile_definitions(qc_kernels_${build} PRIVATE ${names})
    # With plain -O2 gcc makes vectors only of loops whose count it knows.
    target_compile_options(qc_kernels_${build} PRIVATE -O2 $<$<C_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>
                                                      ${qc_isa_flags_${build}})
  endforeach()
  file(CONFIGURE OUTPUT ${out}/builds.inc CONTENT "${lines}")
  set(QC_KERNEL_BUILDS ${builds} PARENT_SCOPE)
endfunction()

# qc_dot_kernels(OUT): the families with float dot products, built again with a rounded product and a
# rounded sum for each step. OUT/dots.inc lists them.
function(qc_dot_kernels out)
  file(STRINGS ${out}/dots.inc rows)
  set(sources)
  set(names)
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "QK_DOTS\\((.*)\\)" "\\1" family ${row})
    list(APPEND sources ${out}/${family}_table.c)
    foreach(table qk_kernels qk_kernel_count qk_bodies qk_body_count)
      list(APPEND names ${table}_${family}=${table}_${family}_mul_add)
    endforeach()
  endforeach()
  add_library(qc_kernels_mul_add OBJECT ${sources})
  add_dependencies(qc_kernels_mul_add qc_kernel_tables)
  target_link_libraries(qc_kernels_mul_add PUBLIC qc_flags)
  target_compile_definitions(qc_kernels_mul_add PRIVATE QN_DOT_MUL_ADD=1 ${names})
endfunction()

# qc_ops(DEPENDS lib ...): the library qc_ops, one translation unit per op folder of src/ops and of
# QUANTC_EXTRA_OPS. A folder is an op folder when it holds a .cpp; `common` holds helpers.
function(qc_ops)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  set(out ${PROJECT_BINARY_DIR}/generated/ops)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ops/*/*.cpp)
  if(QUANTC_EXTRA_OPS)
    file(GLOB extra CONFIGURE_DEPENDS ${QUANTC_EXTRA_OPS}/*/*.cpp)
    list(APPEND sources ${extra})
  endif()
  set(folders)
  foreach(source IN LISTS sources)
    get_filename_component(folder ${source} DIRECTORY)
    list(APPEND folders ${folder})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  list(REMOVE_ITEM folders ${PROJECT_SOURCE_DIR}/src/ops/common)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/op_folders.py ${out}
                          ${PROJECT_SOURCE_DIR}/src
                          ${folders} COMMAND_ERROR_IS_FATAL ANY)
  set(units)
  foreach(folder IN LISTS folders)
    get_filename_component(name ${folder} NAME)
    list(APPEND units ${out}/${name}.cpp)
    string(FIND ${folder} ${PROJECT_SOURCE_DIR}/src/ops/ within)
    if(NOT within EQUAL 0)  # an op from outside may call a kernel from outside
      set_property(SOURCE ${out}/${name}.cpp PROPERTY INCLUDE_DIRECTORIES ${QUANTC_EXTRA_KERNELS})
    endif()
  endforeach()
  file(GLOB shared CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ops/common/*.cpp)
  add_library(qc_ops STATIC ${units} ${shared})
  target_link_libraries(qc_ops PUBLIC qc_flags)
  # Every folder includes these: precompiled once they cost a third of the time.
  target_precompile_headers(qc_ops PRIVATE ${PROJECT_SOURCE_DIR}/src/ops/common/registration.h
                            ${PROJECT_SOURCE_DIR}/src/interp/eval.h
                            ${PROJECT_SOURCE_DIR}/src/program/lowering.h
                            ${PROJECT_SOURCE_DIR}/src/ops/common/dispatch.h)
  foreach(dep IN LISTS ARG_DEPENDS)
    target_link_libraries(qc_ops PUBLIC qc_${dep})
  endforeach()
endfunction()

# qc_samples(SOURCES): the files that say how random graphs use the ops of a folder, tests/random/ops/<op>.cpp
# and <op>/tests/sample.cpp in QUANTC_EXTRA_OPS; tests/random/samples.inc lists the folders.
function(qc_samples result)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/random/ops/*.cpp)
  set(lines "")
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    string(APPEND lines "QC_OP_SAMPLE(${name})\n")
  endforeach()
  if(QUANTC_EXTRA_OPS)
    file(GLOB extra CONFIGURE_DEPENDS ${QUANTC_EXTRA_OPS}/*/tests/sample.cpp)
    foreach(source IN LISTS extra)
      string(REGEX REPLACE ".*/([a-z0-9_]+)/tests/sample\\.cpp$" "\\1" name ${source})
      string(APPEND lines "QC_OP_SAMPLE(${name})\n")
    endforeach()
    list(APPEND sources ${extra})
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/tests/random/samples.inc CONTENT "${lines}")
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# qc_backends(): the library qc_backends, with the backends of src/backends and those of
# QUANTC_EXTRA_BACKENDS: folders that define `const qc::Backend& qc::FOLDER_backend()`. Templates
# (*.tmpl) in a folder become the header backends/FOLDER/templates.h. A file
# targets.inc in one from outside lists the targets of its language. The list of targets is made here,
# before the library of targets is compiled.
function(qc_backends)
  set(out ${PROJECT_BINARY_DIR}/generated/backends)
  set(folders ${PROJECT_SOURCE_DIR}/src/backends/c ${PROJECT_SOURCE_DIR}/src/backends/cuda)
  set(targets "")
  if(QUANTC_EXTRA_BACKENDS)
    file(GLOB extra CONFIGURE_DEPENDS LIST_DIRECTORIES true ${QUANTC_EXTRA_BACKENDS}/*)
    foreach(folder IN LISTS extra)
      if(EXISTS ${folder}/targets.inc)
        list(APPEND folders ${folder})
        string(APPEND targets "#include \"${folder}/targets.inc\"\n")
      endif()
    endforeach()
  endif()
  set(lines "")
  set(alone_cuda header_text)
  add_library(qc_backends STATIC ${PROJECT_SOURCE_DIR}/src/backends/registry.cpp)
  foreach(folder IN LISTS folders)
    get_filename_component(name ${folder} NAME)
    string(APPEND lines "QC_BACKEND(${name})\n")
    qc_library(${name}_backend FOLDER ${folder} DEPENDS printing ALONE ${alone_${name}})
    file(GLOB templates CONFIGURE_DEPENDS ${folder}/*.tmpl)
    if(templates)
      set(header ${out}/${name}/templates.h)
      add_custom_command(OUTPUT ${header}
                         COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/cmake/templates.py ${header} ${folder}
                         DEPENDS ${PROJECT_SOURCE_DIR}/cmake/templates.py ${templates})
      target_sources(qc_${name}_backend PRIVATE ${header})
    endif()
    target_link_libraries(qc_backends PUBLIC qc_${name}_backend)
  endforeach()
  file(CONFIGURE OUTPUT ${out}/folders.inc CONTENT "${lines}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/extra_targets.inc CONTENT "${targets}")
endfunction()

# qc_op_cases(DEPENDS lib ...): the library qc_cases (reader and checker of cases.ir), the program
# run_cases, and one ctest entry per op folder that has a cases.ir.
function(qc_op_cases)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_library(qc_cases STATIC ${PROJECT_SOURCE_DIR}/tests/ops/cases.cpp)
  foreach(dep IN LISTS ARG_DEPENDS)
    target_link_libraries(qc_cases PUBLIC qc_${dep})
  endforeach()
  add_executable(run_cases ${PROJECT_SOURCE_DIR}/tests/ops/run_cases.cpp)
  target_link_libraries(run_cases PRIVATE qc_cases)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ops/*/cases.ir)
  if(QUANTC_EXTRA_OPS)
    file(GLOB extra CONFIGURE_DEPENDS ${QUANTC_EXTRA_OPS}/*/cases.ir)
    list(APPEND files ${extra})
  endif()
  foreach(file IN LISTS files)
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(name ${folder} NAME)
    add_test(NAME op_${name} COMMAND run_cases ${file} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  endforeach()
endfunction()

# qc_golden(NAME FOLDER DEPENDS lib ...): the program NAME from FOLDER/golden.cpp and one ctest entry
# per folder below FOLDER, each the goldens of a pass.
function(qc_golden name root)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${PROJECT_SOURCE_DIR}/${root}/golden.cpp)
  foreach(dep IN LISTS ARG_DEPENDS)
    target_link_libraries(${name} PRIVATE qc_${dep})
  endforeach()
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/${root}/*)
  foreach(folder IN LISTS folders)
    if(IS_DIRECTORY ${folder})
      get_filename_component(pass ${folder} NAME)
      add_test(NAME pass_${pass} COMMAND ${name} ${folder} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    endif()
  endforeach()
endfunction()

# qc_install(): the public library libquantc.so with its headers, the program, and the package that
# find_package(quantc) reads. Nothing of the inside is visible through it.
function(qc_install)
  include(GNUInstallDirs)
  include(CMakePackageConfigHelpers)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/api/*.cpp)
  add_library(quantc_library SHARED ${sources})
  set_target_properties(quantc_library PROPERTIES OUTPUT_NAME quantc EXPORT_NAME quantc
                        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_link_libraries(quantc_library PRIVATE qc_driver)
  target_link_options(quantc_library PRIVATE -Wl,--exclude-libs,ALL)
  target_include_directories(quantc_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(quantc_library INTERFACE cxx_std_17)
  install(TARGETS quantc_library EXPORT quantc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/quantc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/quantc)
  install(EXPORT quantc NAMESPACE quantc:: DESTINATION ${package} FILE quantcConfig.cmake)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/quantcConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/quantcConfigVersion.cmake DESTINATION ${package})
endfunction()
