# cmake -D PROGRAM=fathom-server -D SETTINGS="data = /var/lib/fathom;..." -D OUTPUT=FILE -P configuration.cmake
#
# Writes what `PROGRAM --print-config` prints, with these keys set; a key that the program does not have is an error.
execute_process(COMMAND ${PROGRAM} --print-config OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
foreach(setting ${SETTINGS})
  string(REGEX MATCH "^[a-z-]+" key "${setting}")
  string(REGEX REPLACE "\n#${key} = [^\n]*\n" "\n${setting}\n" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${PROGRAM} --print-config has no key '${key}', which ${OUTPUT} sets")
  endif()
  set(text "${changed}")
endforeach()
file(WRITE ${OUTPUT} "${text}")
execute_process(COMMAND ${PROGRAM} --config ${OUTPUT} --check-config OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
