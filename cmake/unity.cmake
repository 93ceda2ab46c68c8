# Unity batches: sources of one folder and one target are compiled together, so that a header is parsed once per batch
# and a template is instantiated once per batch. FATHOM_UNITY=OFF (the preset `debug`) compiles every file alone;
# `./dev check` compiles every file alone, too, to find missing includes.
#
# A batch never spans two folders: a new file changes the batches of its own folder only, and ccache serves the others.
# Names in anonymous namespaces must therefore be unique among the files of a folder and target.
#
# These are not CMake's own unity files, because those name sources by absolute paths: ccache could not serve another clone.
option(FATHOM_UNITY "compile the sources of a folder in batches" ON)
set(FATHOM_UNITY_BATCH 12 CACHE STRING "maximum number of sources in a unity batch")

# Sources of these targets are compiled alone: fathom_unity_exclude(<target>...).
function(fathom_unity_exclude)
  set_target_properties(${ARGN} PROPERTIES FATHOM_UNITY_EXCLUDED ON)
endfunction()

# Replaces the target's C++ sources by batches. Generated sources stay as they are.
function(fathom_unity_target target)
  get_target_property(excluded ${target} FATHOM_UNITY_EXCLUDED)
  get_target_property(sources ${target} SOURCES)
  if(excluded OR NOT sources)
    return()
  endif()
  get_target_property(directory ${target} SOURCE_DIR)
  get_target_property(output ${target} BINARY_DIR)
  set(folders)
  set(kept)
  foreach(source ${sources})
    get_filename_component(source ${source} ABSOLUTE BASE_DIR ${directory})
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
    string(FIND ${source} ${CMAKE_BINARY_DIR}/ generated)
    if(source MATCHES "\\.cc$" AND NOT generated EQUAL 0)
      get_filename_component(folder ${path} DIRECTORY)
      string(MAKE_C_IDENTIFIER "${folder}" folder)
      list(APPEND folders ${folder})
      list(APPEND in_${folder} ${path})
    else()
      list(APPEND kept ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    list(REMOVE_DUPLICATES in_${folder})
    list(SORT in_${folder})
    fathom_unity_folder(batches ${output}/unity/${target}/${folder} ${in_${folder}})
    list(APPEND kept ${batches})
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${kept}")
  # Batches name sources relative to the root of the tree. g++ treats an included source as a header, and warns about types
  # in its anonymous namespaces.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-iquote${CMAKE_SOURCE_DIR}>
                                           $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()

# Writes batches of equal size to PREFIX_N.cc, as few as FATHOM_UNITY_BATCH allows. A batch of one source is that source.
function(fathom_unity_folder result prefix)
  list(LENGTH ARGN count)
  math(EXPR batches "(${count} + ${FATHOM_UNITY_BATCH} - 1) / ${FATHOM_UNITY_BATCH}")
  set(files)
  foreach(batch RANGE 1 ${batches})
    math(EXPR from "(${batch} - 1) * ${count} / ${batches}")
    math(EXPR size "${batch} * ${count} / ${batches} - ${from}")
    list(SUBLIST ARGN ${from} ${size} members)
    if(size EQUAL 1)
      list(APPEND files ${CMAKE_SOURCE_DIR}/${members})
    else()
      list(TRANSFORM members REPLACE "(.+)" "#include \"\\1\"\n")
      list(JOIN members "" content)
      file(CONFIGURE OUTPUT ${prefix}_${batch}.cc CONTENT "${content}" @ONLY)
      list(APPEND files ${prefix}_${batch}.cc)
    endif()
  endforeach()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# Every target of a directory and of those below it, as the last step of the configuration.
function(fathom_unity_directory directory)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type MATCHES "^(STATIC_LIBRARY|SHARED_LIBRARY|MODULE_LIBRARY|OBJECT_LIBRARY|EXECUTABLE)$")
      fathom_unity_target(${target})
    endif()
  endforeach()
  get_property(below DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(subdirectory ${below})
    fathom_unity_directory(${subdirectory})
  endforeach()
endfunction()
