package burst.controller.cluster

import com.typesafe.config.ConfigFactory
import org.apache.pekko.cluster.{Invalid, Valid}

class VersionCheckSuite extends munit.FunSuite:
  private def config(versions: String) = ConfigFactory.parseString(s"burst.cluster.versions = \"$versions\"")
  private val unsaid = ConfigFactory.empty()

  test("controllers with a common version are admitted"):
    val check = VersionCheck()
    for (other, own) <- Vector("2-3" -> "3-4", "4" -> "2-5") do
      assertEquals(check.check(config(other), config(own)), Valid, s"$other, $own")
    assertEquals(check.check(unsaid, config("2-3")), Valid)
    assertEquals(check.check(unsaid, unsaid), Valid)

  test("controllers without a common version are refused with the versions of both"):
    VersionCheck().check(config("2-3"), config("4-5")) match
      case Invalid(told) =>
        assertEquals(
          told.toVector,
          Vector(
            "one controller speaks versions 2 to 3 of the protocol between nodes, the other one versions 4 to 5"
          )
        )
      case Valid => fail("the controller was admitted")
    assert(VersionCheck().check(unsaid, config("3-4")).isInstanceOf[Invalid])
