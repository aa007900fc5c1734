package burst.node

import com.typesafe.config.ConfigFactory
import munit.FunSuite

class SettingsCheckSuite extends FunSuite:
  private val known = SettingsCheck(ConfigFactory.parseString("""burst {
    limits { burst-size = 4096, package-size = 64MiB, timeout = 15m }
    invoker { slots = 0, docker { mounts = [], cpus-per-worker = 1.0 }, id = "invoker0" }
    http { port = 3233, server { idle-timeout = 120s }, deploy-dispatcher { executor = "any" } }
    backends {}
    careful = true
  }"""))

  private def refusal(settings: String): String =
    intercept[SetupException](known.check(ConfigFactory.parseString(settings))).getMessage

  test("known settings are accepted in any form that their default could have"):
    known.check(ConfigFactory.parseString("""
      pekko.anything = 1
      burst.limits { burst-size = "9", package-size = 8, timeout = "1500" }
      burst.invoker { slots = 4, docker { mounts = ["/a:/b"], cpus-per-worker = 2 }, id = 7 }
      burst.backends { anything { goes = 1 }, "a.b" = "x" }
      burst.http.server.parsing.max-uri-length = 9k
      burst.http.deploy-dispatcher.thread-pool-executor.keep-alive-time = 9s
      burst.careful = off
    """))

  test("an unknown setting stops the start, with a suggestion"):
    assertEquals(
      refusal("burst.limts.burst-size = 9"),
      "there is no setting burst.limts.burst-size: did you mean burst.limits.burst-size?"
    )
    assert(refusal("burst.limits.burstsize = 9").endsWith("did you mean burst.limits.burst-size?"))
    assert(refusal("burst.slots = 9").endsWith("did you mean burst.invoker.slots?"))
    assert(
      refusal("burst.invoker { docker { mount = [] } }").endsWith("did you mean burst.invoker.docker.mounts?")
    )
    assert(refusal("burst.something-else.entirely = 9").contains("reference.conf"))
    assert(refusal("burst.limits.burst-size.x = 9").contains("burst-size"))
    assert(refusal("burst.limits = 9").contains("burst.limits is a section"))

  test("contradictory settings stop the start"):
    def refusal(settings: String) =
      intercept[SetupException](SettingsCheck.contradictions(ConfigFactory.parseString(settings))).getMessage
    assertEquals(
      refusal("burst { http { blocking-limit = 2m, server.request-timeout = 90s } }"),
      "burst.http.blocking-limit (2m) must not be more than burst.http.server.request-timeout (90s)."
    )
    assert(refusal(
      "burst.limits { chunk-size-min = 1MiB, chunk-size-max = 512KiB }"
    ).contains("chunk-size-max (512KiB)"))
    SettingsCheck.contradictions(ConfigFactory.parseString("burst.limits { chunk-size-min = 1MiB }"))
    assertEquals(
      refusal("burst.limits.timeout = 200d"),
      "burst.limits.timeout (200d) must be less than 200 days."
    )
    SettingsCheck.contradictions(ConfigFactory.parseString("burst.limits.timeout = 199d"))

  test("an invalid value stops the start, by the name of its setting"):
    for (settings, expected) <- Seq(
        "burst.limits.burst-size = many" -> "burst.limits.burst-size must be a whole number",
        "burst.limits.burst-size = -1" -> "a whole number, 0 or more",
        "burst.limits.burst-size = 1.5" -> "a whole number",
        "burst.http.port = 70000" -> "burst.http.port must be a port",
        "burst.limits.timeout = soon" -> "burst.limits.timeout must be a time",
        "burst.limits.timeout = -5s" -> "must be a time",
        "burst.limits.package-size = 5s" -> "must be a size",
        "burst.invoker.docker.mounts = \"/a:/b\"" -> "must be a list",
        "burst.invoker.docker.cpus-per-worker = -1" -> "must be a number",
        "burst.invoker.id = []" -> "must be a plain value",
        "burst.careful = perhaps" -> "must be true or false"
      )
    do assert(refusal(settings).contains(expected), refusal(settings))
