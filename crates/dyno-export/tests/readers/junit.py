"""Prints a JUnit XML file as JSON, read by junitparser."""

import json
import sys

from junitparser.xunit2 import JUnitXml

document = JUnitXml.fromfile(sys.argv[1])
json.dump(
    {
        "tests": document.tests,
        "failures": document.failures,
        "errors": document.errors,
        "skipped": document.skipped,
        "suites": [
            {
                "name": suite.name,
                "tests": suite.tests,
                "failures": suite.failures,
                "errors": suite.errors,
                "skipped": suite.skipped,
                "time": suite.time,
                "timestamp": suite.timestamp,
                "hostname": suite.hostname,
                "properties": {p.name: p.value for p in suite.properties()},
                "cases": [
                    {
                        "classname": case.classname,
                        "name": case.name,
                        "time": case.time,
                        "results": [
                            {
                                "kind": type(result).__name__,
                                "message": result.message,
                                "type": result.type,
                                "text": result.text,
                            }
                            for result in case.result
                        ],
                        "output": case.system_out,
                        "properties": {p.name: p.value for p in case.properties()},
                    }
                    for case in suite
                ],
            }
            for suite in document
        ],
    },
    sys.stdout,
)
