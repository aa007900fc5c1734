package burst.controller

import burst.controller.http.ActionLimits
import burst.controller.scheduler.AttemptProgress
import io.circe.Json
import io.circe.parser.parse
import scala.io.Source

class RuntimeLimitsSuite extends munit.FunSuite:
  test("limits that are shared with the runtimes match the golden copy"):
    val golden: Json =
      parse(Source.fromResource("golden/constants.json").mkString).fold(throw _, identity)
    assertEquals(golden.hcursor.get[Long]("concurrency"), Right(ActionLimits.MostConcurrency))
    assertEquals(golden.hcursor.get[Int]("phases"), Right(AttemptProgress.Marks))
