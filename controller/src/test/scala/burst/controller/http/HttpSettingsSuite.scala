package burst.controller.http

import burst.node.SetupException
import com.typesafe.config.ConfigFactory

class HttpSettingsSuite extends munit.FunSuite:
  private def settings(text: String) =
    HttpSettings.from(ConfigFactory.parseString(text).withFallback(ConfigFactory.load()))

  test("limits on bodies are capped so that all of them fit the heap, and one fits among them"):
    val huge = settings("""
      burst.http { deploy-body-limit = 1TiB, deploy-bodies-limit = 1TiB }
      burst.http { flare-body-limit = 1TiB, flare-bodies-limit = 1TiB }
      """)
    val heap = Runtime.getRuntime.maxMemory
    assertEquals(huge.deployBodies.limit, heap / 8)
    assertEquals(huge.flareBodies.limit, heap / 16)
    Vector(huge.deployBodies, huge.flareBodies).foreach: bodies =>
      assertEquals(bodies.bodyLimit, bodies.limit - bodies.reserve)
    val small = settings("burst.http { flare-body-limit = 1MiB, flare-bodies-limit = 8MiB }").flareBodies
    assertEquals((small.bodyLimit, small.limit), (1L << 20, 8L << 20))

  test("an unusable setting is reported by its name, and one of a library by its section"):
    def told(text: String) = intercept[SetupException](settings(text)).getMessage
    assertEquals(
      told("burst.http.connections.limit = 0"),
      "burst.http.connections.limit must be more than 0."
    )
    assertEquals(
      told("burst.http.server.max-connections = 0"),
      "burst.http.server cannot be used: requirement failed: max-connections must be > 0."
    )
    val packing = ConfigFactory.parseString("burst.flare-defaults.packing = loose")
    assertEquals(
      intercept[SetupException](FlareDefaults.from(packing.withFallback(ConfigFactory.load()))).getMessage,
      "burst.flare-defaults.packing is 'loose': give mixed, homogeneous, heterogeneous."
    )
