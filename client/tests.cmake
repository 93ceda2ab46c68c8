# The client's test program, the programs that it starts, and the benchmark.
file(GLOB client_helpers CONFIGURE_DEPENDS testing/*.cc)
add_library(fathom_client_testing STATIC EXCLUDE_FROM_ALL ${client_helpers})
target_include_directories(fathom_client_testing PUBLIC ${CMAKE_SOURCE_DIR})
target_link_libraries(fathom_client_testing PUBLIC fathom_client)

add_executable(client_bench EXCLUDE_FROM_ALL programs/client_bench.cc)
target_link_libraries(client_bench PRIVATE fathom_client_testing)

add_executable(client_tests ${client_tests})
target_link_libraries(client_tests PRIVATE fathom_client_testing GTest::gtest GTest::gtest_main)
target_compile_definitions(client_tests PRIVATE FATHOM_TESTDATA="${CMAKE_CURRENT_SOURCE_DIR}/testdata")
# Those that fork at every instruction have a process to themselves: with a sanitizer, a fork takes longer the more memory
# the tests before it left.
set(not_beside_others "EventSignals.*:Trigger.ForkedAtEveryInstruction")
set(handover "Handover.*:DetailHandover.*")
if(FATHOM_SANITIZE)
  # With a sanitizer, each of their hundred thousand steps takes a hundred times as long.
  string(APPEND not_beside_others ":OpenSpanSignals.*")
endif()
add_test(NAME client_tests COMMAND client_tests --gtest_filter=-${not_beside_others}:${handover})
add_test(NAME client_handover COMMAND client_tests --gtest_filter=${handover})
add_test(NAME client_event_signals COMMAND client_tests --gtest_filter=EventSignals.*)
add_test(NAME client_trigger_forks COMMAND client_tests --gtest_filter=Trigger.ForkedAtEveryInstruction)
# No agent of this machine is to see what the tests do.
set_tests_properties(client_tests client_event_signals client_trigger_forks client_handover PROPERTIES TIMEOUT 600
                     ENVIRONMENT "FATHOM_AGENT_SOCKET=")
set_tests_properties(client_tests client_event_signals client_trigger_forks PROPERTIES COST 50 ${FATHOM_CPU_BOUND})
# A client waits before it offers its memory again.
set_tests_properties(client_handover PROPERTIES COST 30)

# Programs that tests start.
add_executable(client_victim programs/client_victim.cc)
target_link_libraries(client_victim PRIVATE fathom_client)
target_compile_definitions(client_tests PRIVATE FATHOM_PROGRAMS="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
add_dependencies(client_tests client_victim)

# For tests across folders, and benchmarks.
foreach(program span_writer span_relay event_writer capture_writer secret_writer span_holder)
  add_executable(${program} programs/${program}.cc)
  target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${program} PRIVATE fathom_client)
endforeach()

add_executable(client_c_program programs/c_program.c)
set_target_properties(client_c_program PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_compile_options(client_c_program PRIVATE -pedantic)
target_link_libraries(client_c_program PRIVATE fathom_client_shared)
if(FATHOM_SANITIZE)
  # The library wants the sanitizer's runtime of C++ programs.
  set_target_properties(client_c_program PROPERTIES LINKER_LANGUAGE CXX)
endif()
add_dependencies(client_tests client_c_program)
add_test(NAME client_c_program COMMAND client_c_program)
set_tests_properties(client_c_program PROPERTIES TIMEOUT 60 ENVIRONMENT "FATHOM_AGENT_SOCKET=")

add_library(client_plugin MODULE programs/plugin.cc)
target_link_libraries(client_plugin PRIVATE fathom_client)
add_executable(client_plugin_host programs/plugin_host.cc)
target_link_libraries(client_plugin_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
add_test(NAME client_plugin COMMAND client_plugin_host $<TARGET_FILE:client_plugin>)
add_test(NAME client_plugin_shared COMMAND client_plugin_host $<TARGET_FILE:client_plugin_shared>)
add_library(client_plugin_shared MODULE programs/plugin.cc)
target_link_libraries(client_plugin_shared PRIVATE fathom_client_shared)
set_tests_properties(client_plugin client_plugin_shared PROPERTIES TIMEOUT 60)

if(FATHOM_FUZZ)
  foreach(fuzzer ${client_fuzzers})
    fathom_fuzz_target(${fuzzer} fathom_client_testing)
  endforeach()
endif()
