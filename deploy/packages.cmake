# The packages: one per component of `install`, by CPack; `ninja package` would build everything first, ./dev package
# builds what is in them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR fathom)
# Who answers for the packages: whoever makes them for others puts an address here.
set(FATHOM_MAINTAINER "the fathom authors <fathom@localhost>" CACHE STRING "Maintainer of the Debian packages")
set(CPACK_PACKAGE_CONTACT "${FATHOM_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "says why requests were slow")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_COMPONENTS_ALL)

string(TIMESTAMP today "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(same_version "(= ${PROJECT_VERSION})")

# fathom_package(<component> NAME <package> SECTION <section> SUMMARY <line> ABOUT <lines> [DEPENDS ...] [SUGGESTS ...])
# A macro: CPack reads variables of this folder.
macro(fathom_package component)
  cmake_parse_arguments(arg "" "NAME;SECTION;SUMMARY;ABOUT;DEPENDS;SUGGESTS" "" ${ARGN})
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${arg_NAME})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${arg_SECTION})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${arg_DEPENDS}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_SUGGESTS "${arg_SUGGESTS}")
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${arg_SUMMARY}\n${arg_ABOUT}")
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${arg_SUMMARY}\n${arg_ABOUT}")
  set(package ${arg_NAME})
  set(documents ${CMAKE_CURRENT_BINARY_DIR}/${package})
  configure_file(debian/changelog.in ${documents}/changelog @ONLY)
  # -n: without a time, so that the same sources give the same file.
  execute_process(COMMAND gzip -9nf ${documents}/changelog COMMAND_ERROR_IS_FATAL ANY)
  install(FILES debian/copyright ${documents}/changelog.gz DESTINATION share/doc/${package} COMPONENT ${component})
endmacro()

# fathom_service(<component> USER <user> STATE <directory>): what its package does when it comes and goes.
macro(fathom_service component)
  cmake_parse_arguments(arg "" "USER;STATE" "" ${ARGN})
  string(TOUPPER ${component} upper)
  set(unit ${component}.service)
  set(user ${arg_USER})
  set(state ${arg_STATE})
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA)
  foreach(script postinst prerm postrm)
    configure_file(debian/${script}.in ${CMAKE_CURRENT_BINARY_DIR}/${component}/${script} @ONLY)
    list(APPEND CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/${component}/${script})
  endforeach()
  string(REPLACE "fathom-" "" name ${component})
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${component}/conffiles "/etc/fathom/${name}.conf\n")
  list(APPEND CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/${component}/conffiles)
endmacro()

fathom_package(fathom-worker NAME fathom-worker SECTION utils
  SUMMARY "answers questions about fathom's snapshots"
  ABOUT "fathom-worker decodes recorded control flow for fathom and fathom-server,\nwith bounded memory and without network.")
fathom_package(fathom NAME fathom SECTION utils DEPENDS "fathom-worker ${same_version}" SUGGESTS "fathom-server, fathom-agent"
  SUMMARY "asks why requests were slow"
  ABOUT "The command line of fathom, a tracing system: finds the slowest requests of a\nfleet, shows what their threads did, records which instructions ran.")
fathom_package(fathom-server NAME fathom-server SECTION net DEPENDS "fathom-worker ${same_version}, adduser"
  SUMMARY "keeps spans and finds the slowest requests"
  ABOUT "Takes spans over OTLP and from fathom's agents, keeps every one of them, and\nanswers by HTTP, by gRPC and with a page in the browser.")
fathom_package(fathom-agent NAME fathom-agent SECTION net DEPENDS "adduser" SUGGESTS "fathom-server"
  SUMMARY "brings the spans of a host's programs to fathom-server"
  ABOUT "Takes spans out of the memory of programs that use fathom's client, also when\nthey have crashed, and captures what their threads did in slow requests.")
fathom_package(client-runtime NAME libfathom-client0 SECTION libs
  SUMMARY "fathom's client: the shared library"
  ABOUT "Programs that are traced with fathom's client write their spans by it.")
fathom_package(client NAME libfathom-client-dev SECTION libdevel DEPENDS "libfathom-client0 ${same_version}" SUGGESTS "libgrpc++-dev"
  SUMMARY "fathom's client: headers and libraries"
  ABOUT "For C++ and C: headers, a static library, a CMake package and a file for\npkg-config.")

fathom_service(fathom-server USER fathom STATE /var/lib/fathom)
fathom_service(fathom-agent USER fathom-agent STATE /var/lib/fathom-agent)
# The loader's cache, when a library comes or goes.
set(CPACK_DEBIAN_CLIENT-RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/triggers)

include(CPack)
