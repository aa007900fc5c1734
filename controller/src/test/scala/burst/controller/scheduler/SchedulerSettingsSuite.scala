package burst.controller.scheduler

import burst.node.SetupException
import com.typesafe.config.ConfigFactory
import munit.FunSuite

class SchedulerSettingsSuite extends FunSuite:
  test("an invalid granularity is reported by its setting"):
    for text <- Vector("dearest", "0") do
      val own = ConfigFactory.parseString(s"burst.scheduler.default-granularity = $text")
      val refused = intercept[SetupException](SchedulerSettings.from(own.withFallback(ConfigFactory.load())))
      assertEquals(
        refused.getMessage,
        s"burst.scheduler.default-granularity is '$text': give \"cheapest\" or a positive number."
      )
