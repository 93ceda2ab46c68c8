# fathom_module(): one folder is one library, its tests and its fuzz targets; the include table is enforced here.
#
# Sources are found by name: *.cc is the library, *_test.cc the test program <folder>_tests, *_fuzz.cc a libFuzzer
# target each. A quoted include of a folder outside the table, or a fenced system header outside its folder, fails the
# configuration with the file's name.

# Who may include whom. A folder may always include itself. `net` (HTTP over Boost.Beast) serves collector, query and cli.
set(FATHOM_MAY_INCLUDE_base "")
set(FATHOM_MAY_INCLUDE_proto "")
set(FATHOM_MAY_INCLUDE_ingest base proto)  # the words of the agents' stream, for both of its sides
set(FATHOM_MAY_INCLUDE_net base)
set(FATHOM_MAY_INCLUDE_redact base)  # what of spans and captures must not be stored: for agents and the server
set(FATHOM_MAY_INCLUDE_capture base)  # what an agent writes and the server's queries read: the content of a capture
set(FATHOM_MAY_INCLUDE_snapshot/format base)  # what a recorder writes and a decoder reads
set(FATHOM_MAY_INCLUDE_snapshot/source base)  # lines of source files, for whoever shows them
set(FATHOM_MAY_INCLUDE_snapshot/record base snapshot/format snapshot/symbols)  # symbols: where a function begins that is waited for
set(FATHOM_MAY_INCLUDE_snapshot/import base snapshot/format)
set(FATHOM_MAY_INCLUDE_snapshot/symbols base snapshot/format)
set(FATHOM_MAY_INCLUDE_snapshot/decode base snapshot/format snapshot/symbols)
set(FATHOM_MAY_INCLUDE_snapshot/analyze base net snapshot/format snapshot/source snapshot/symbols snapshot/decode)
set(FATHOM_MAY_INCLUDE_snapshot/view base net snapshot/format snapshot/symbols snapshot/decode snapshot/analyze)
set(FATHOM_MAY_INCLUDE_store base proto)
set(FATHOM_MAY_INCLUDE_collector base proto ingest net redact store)
# What people sent of snapshots is listed, checked and served by what its file says; decoding is fathom-worker's.
set(FATHOM_MAY_INCLUDE_query base proto ingest net store capture snapshot/format snapshot/source)
set(FATHOM_MAY_INCLUDE_cli base proto net)
set(FATHOM_MAY_INCLUDE_client base)  # headers only: a traced program links no library of ours but this one
# The agent cuts snapshots of its node (snapshot/record), and carries their files (snapshot/format).
set(FATHOM_MAY_INCLUDE_node-agent base proto ingest net redact capture snapshot/format snapshot/record)
set(FATHOM_MAY_INCLUDE_apps base proto ingest net redact capture store collector query cli node-agent
    snapshot/format snapshot/source snapshot/record snapshot/import snapshot/symbols snapshot/decode snapshot/analyze snapshot/view)
set(FATHOM_MAY_INCLUDE_bench base proto net capture
    snapshot/format snapshot/record snapshot/import snapshot/symbols snapshot/decode snapshot/analyze)  # black-box clients: they know the wire, not the server's insides
set(FATHOM_MAY_INCLUDE_tests base proto ingest net redact capture store collector query cli node-agent
    snapshot/format snapshot/record snapshot/import snapshot/symbols snapshot/decode snapshot/analyze snapshot/view)
# A folder of another folder: all that may be seen of it. The span pool's layout is compiled by both of its sides.
set(FATHOM_MAY_INCLUDE_PART_node-agent client/pool)
set(FATHOM_MAY_INCLUDE_PART_snapshot/record client/pool)  # the stepper sees a program's open spans from outside
set(FATHOM_MAY_INCLUDE_PART_bench client/testing client/programs client/pool)  # the program that it starts, gives memory back, fills
set(FATHOM_MAY_INCLUDE_PART_tests client/pool client/programs)  # what those wrote who were killed, and the pages that say so
set(FATHOM_FOLDERS base proto ingest net redact capture store collector query cli apps bench tests client node-agent snapshot)
# Folders whose own folders are the modules: snapshot/decode is one, snapshot is none.
set(FATHOM_FOLDERS_OF_MODULES snapshot)

# System headers that only these folders may include: "prefix=folders", a pattern of their beginnings.
set(FATHOM_FENCES "rocksdb/=store" "intel-pt.h=snapshot/" "Zydis/=snapshot/" "elfutils/=snapshot/"
    "linux/perf_event.h=node-agent|snapshot/record|snapshot/import|snapshot/format" "bpf/=node-agent" "re2/=redact")

function(fathom_check_includes folder)
  set(allowed ${folder} ${FATHOM_MAY_INCLUDE_${folder}})
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} includes REGEX "^[ \t]*#[ \t]*include")
    foreach(line ${includes})
      if(line MATCHES "[<\"]([a-z-]+)/([^>\"]*)")
        # <net/if.h> is the system's; <net/http_server.h> would be ours by another door.
        set(other ${CMAKE_MATCH_1})
        set(ours ${other}/${CMAKE_MATCH_2})
        set(module ${other})
        if(other IN_LIST FATHOM_FOLDERS_OF_MODULES)
          string(REGEX MATCH "^[a-z-]+/[a-z-]+" module ${ours})
        endif()
        get_filename_component(part ${ours} DIRECTORY)
        if(other IN_LIST FATHOM_FOLDERS AND NOT module IN_LIST allowed AND
           NOT part IN_LIST FATHOM_MAY_INCLUDE_PART_${folder} AND
           (line MATCHES "\"" OR EXISTS ${CMAKE_SOURCE_DIR}/${ours}))
          message(FATAL_ERROR "${file}: ${folder}/ may not include ${module}/ (cmake/module.cmake has the table)")
        endif()
      endif()
      if(line MATCHES "[<\"][^>\"]*\\.\\./")
        message(FATAL_ERROR "${file}: includes are written from the root of the tree, without '..'")
      endif()
      foreach(fence ${FATHOM_FENCES})
        string(REPLACE "=" ";" fence ${fence})
        list(GET fence 0 prefix)
        list(GET fence 1 owners)
        string(REGEX MATCH "[<\"]${prefix}" fenced "${line}")
        string(REPLACE "|" "/ or " fence_words "${owners}/")
        string(REPLACE "//" "/" fence_words "${fence_words}")
        if(fenced AND NOT folder MATCHES "^(${owners})")
          message(FATAL_ERROR "${file}: <${prefix}> is fenced into ${fence_words} (cmake/module.cmake)")
        endif()
      endforeach()
    endforeach()
  endforeach()
endfunction()

# A CPU-bound test takes three of ctest's slots, a test that also waits for other programs takes two, and a test that mostly
# waits takes one, the default. `./dev test` gives ctest three slots per processor and two more: CPU-bound tests keep the
# processors busy, and waiting tests run beside them.
set(FATHOM_CPU_BOUND PROCESSORS 3)

# A fuzz target runs 20,000 inputs per test run. These targets need over 0.5 ms per input and run 4,000 (cmake/fuzz.sh).
set(FATHOM_SLOW_FUZZERS agent_stream_fuzz block_chunk_fuzz config_fuzz decode_fuzz detail_file_fuzz spool_file_fuzz answers_fuzz)

function(fathom_fuzz_target source library)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${library})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  get_filename_component(folder ${source} DIRECTORY)
  set(runs 20000)
  if(name IN_LIST FATHOM_SLOW_FUZZERS)
    set(runs 4000)
  endif()
  add_test(NAME ${name} COMMAND ${CMAKE_SOURCE_DIR}/cmake/fuzz.sh $<TARGET_FILE:${name}> ${runs} ${CMAKE_BINARY_DIR}/fuzz
                                ${folder}/testdata/${name} ${CMAKE_CURRENT_SOURCE_DIR}/testdata/${name})
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 1800 ${FATHOM_CPU_BOUND})
endfunction()

# As one test, or as several that ctest may run side by side: gtest itself knows which of them runs what.
function(fathom_folder_tests folder shards)
  if(NOT shards)
    add_test(NAME ${folder}_tests COMMAND ${folder}_tests)
    # The timeout only catches hangs, because sanitizers are slow. ctest starts the test with the highest COST first.
    set_tests_properties(${folder}_tests PROPERTIES TIMEOUT 1200 COST 45 ${FATHOM_CPU_BOUND})
    return()
  endif()
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${folder}_tests_${shard} COMMAND ${folder}_tests)
    set_tests_properties(${folder}_tests_${shard} PROPERTIES TIMEOUT 1200 COST 60 ${FATHOM_CPU_BOUND}
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# fathom_module(<folder> [LIBRARIES <targets>...] [TEST_LIBRARIES <targets>...] [TEST_SHARDS <how many>])
function(fathom_module folder)
  cmake_parse_arguments(arg "" "TEST_SHARDS" "LIBRARIES;TEST_LIBRARIES" ${ARGN})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  fathom_check_includes(${folder} ${all})
  string(REPLACE "/" "-" name ${folder})  # snapshot/decode is the library fathom_snapshot-decode
  set(sources ${all})
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(fuzzers ${sources})
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz)\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/(testing|programs)/")
  set(depends)
  foreach(other ${FATHOM_MAY_INCLUDE_${folder}})
    string(REPLACE "/" "-" other ${other})
    list(APPEND depends fathom_${other})
  endforeach()
  if(sources)
    add_library(fathom_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(fathom_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(fathom_${name} ${scope} ${CMAKE_SOURCE_DIR})
  target_link_libraries(fathom_${name} ${scope} ${depends} ${arg_LIBRARIES} Threads::Threads)
  if(tests)
    # testing/ holds what only tests share: fakes, scripted file systems, builders.
    file(GLOB helpers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/testing/*.cc)
    add_executable(${name}_tests ${tests} ${helpers})
    target_link_libraries(${name}_tests PRIVATE fathom_${name} ${arg_TEST_LIBRARIES} GTest::gtest GTest::gtest_main)
    target_compile_definitions(${name}_tests PRIVATE FATHOM_TESTDATA="${CMAKE_CURRENT_SOURCE_DIR}/testdata")
    fathom_set_test_code_options(${name}_tests)
    fathom_folder_tests(${name} "${arg_TEST_SHARDS}")
  endif()
  if(FATHOM_FUZZ)
    foreach(fuzzer ${fuzzers})
      fathom_fuzz_target(${fuzzer} fathom_${name})
    endforeach()
  endif()
endfunction()
