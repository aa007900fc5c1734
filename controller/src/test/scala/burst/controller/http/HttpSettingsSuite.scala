package burst.controller.http

import com.typesafe.config.ConfigFactory

class HttpSettingsSuite extends munit.FunSuite:
  private def settings(text: String) =
    HttpSettings.from(ConfigFactory.parseString(text).withFallback(ConfigFactory.load()))

  test("bodies that are taken in at once fit the heap, and one fits among them, however they are set"):
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
