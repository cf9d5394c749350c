# What `cmake --install build/release --prefix PREFIX` installs, `cpack` packs, and the packages of .ci/package.sh contain: the programs,
# a configuration to start from, what Prometheus and Grafana load, the library, the documentation. This is the only description of that
# layout. Its components are the packages for Debian: exporter, etwtool, library.
include(GNUInstallDirs)

if(WIN32)
  # One folder with the places of the sources, so that the links between pages lead to the files, too.
  set(etwx_bin_dir .)
  set(etwx_config_dir config)
  set(etwx_data_dir .)
  set(etwx_collector_dir config/collectors)
  set(etwx_dashboard_dir dashboards)
  set(etwx_doc_dir .)
else()
  set(etwx_bin_dir ${CMAKE_INSTALL_BINDIR})
  set(etwx_config_dir ${CMAKE_INSTALL_SYSCONFDIR}/${PROJECT_NAME})
  set(etwx_data_dir ${CMAKE_INSTALL_DATADIR}/${PROJECT_NAME})
  set(etwx_collector_dir ${etwx_data_dir}/collectors)
  set(etwx_dashboard_dir ${etwx_data_dir})
  set(etwx_doc_dir ${CMAKE_INSTALL_DOCDIR})
endif()

set(etwx_programs etw_exporter etwtool)
if(WIN32) # elsewhere the self-test has no events to compare
  list(APPEND etwx_programs etw_selftest)
endif()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME exporter)
install(TARGETS etwtool RUNTIME DESTINATION ${etwx_bin_dir} COMPONENT etwtool)
set(others ${etwx_programs})
list(REMOVE_ITEM others etwtool)
install(TARGETS ${others} RUNTIME DESTINATION ${etwx_bin_dir})
# Editors find schema.json beside the configuration and above the collectors.
install(FILES config/etw_exporter.yaml config/schema.json DESTINATION ${etwx_config_dir})
# The shipped collectors are built in; these are to read, and to copy.
install(DIRECTORY config/collectors/ DESTINATION ${etwx_collector_dir} FILES_MATCHING PATTERN *.yaml)
install(DIRECTORY dashboards/grafana dashboards/external dashboards/provisioning dashboards/prometheus dashboards/agents
  DESTINATION ${etwx_dashboard_dir} PATTERN *_test.yml EXCLUDE)
install(FILES dashboards/mixin.libsonnet DESTINATION ${etwx_dashboard_dir})
install(FILES CHANGELOG.md LICENSE README.md SECURITY.md DESTINATION ${etwx_doc_dir})
# Pages for those who change the program stay in the sources; those about the format go with the library.
set(library_pages "/(library[.]md|etl-format[.]md|kernel-event.*[.]csv)$")
set(source_pages "/(ARCHITECTURE|CONTRIBUTING|STYLE|recipes|build)[.]md$")
if(NOT WIN32) # the packages for Windows have no library
  install(DIRECTORY docs DESTINATION ${etwx_doc_dir} COMPONENT library FILES_MATCHING REGEX ${library_pages} PATTERN architecture EXCLUDE)
endif()
install(DIRECTORY docs DESTINATION ${etwx_doc_dir} FILES_MATCHING PATTERN *.md PATTERN *.webp
  PATTERN architecture EXCLUDE REGEX ${library_pages} EXCLUDE REGEX ${source_pages} EXCLUDE)
install(FILES config/README.md config/METRICS.md DESTINATION ${etwx_doc_dir}/config)
file(GLOB pictures CONFIGURE_DEPENDS dashboards/*.png)
install(FILES dashboards/README.md ${pictures} DESTINATION ${etwx_doc_dir}/dashboards)

if(WIN32) # a debugger finds the debug files beside the programs (cmake/windows.cmake)
  foreach(program IN LISTS etwx_programs)
    install(FILES ${PROJECT_BINARY_DIR}/${program}.debug DESTINATION ${etwx_bin_dir})
  endforeach()
  install(PROGRAMS selftest/collect.cmd DESTINATION ${etwx_bin_dir})
else()
  install(FILES config/schema.json DESTINATION ${etwx_data_dir})
endif()

if(TARGET etw)
  install(TARGETS etw ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT library)
  install(DIRECTORY include/etw DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library FILES_MATCHING PATTERN *.h)
  file(GLOB examples CONFIGURE_DEPENDS examples/*.c)
  install(FILES ${examples} DESTINATION ${etwx_doc_dir}/examples COMPONENT library)
  # libetw.pc names its folders by where it is itself, so that they are right in any prefix.
  set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  string(REGEX REPLACE "[^/]+" ".." pc_up ${pc_dir})
  if(BUILD_SHARED_LIBS) # names the libraries that it needs itself
    set(pc_private .private)
    set(pc_private_libs "${pc_libs}")
    set(pc_libs)
  endif()
  configure_file(packaging/libetw.pc.in libetw.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/libetw.pc DESTINATION ${pc_dir} COMPONENT library)
endif()

include(cmake/pages.cmake)

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_VENDOR "${PROJECT_NAME}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
if(NOT WIN32) # those are stripped already, and their debugging information is a file to keep
  set(CPACK_STRIP_FILES ON)
endif()
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)

# All that `cmake --install` needs, and no tests.
add_custom_target(installed)
add_dependencies(installed ${etwx_programs} pages)
if(TARGET etw)
  add_dependencies(installed etw)
endif()
