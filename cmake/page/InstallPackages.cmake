# cmake -DNPM=npm -DFOLDER=folder -P: installs what FOLDER's lock file names, and runs no package's
# own scripts.

execute_process(
  COMMAND "${NPM}" ci --ignore-scripts --no-audit --no-fund
  WORKING_DIRECTORY "${FOLDER}"
  OUTPUT_VARIABLE said
  ERROR_VARIABLE said
  RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "npm could not install the web page's packages:\n${said}\n"
    "-DCAIRN_WEB=OFF builds without the page.")
endif()
