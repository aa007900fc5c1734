package burst.invoker.driver
package docker

import java.nio.file.{Files, Path}

class PulledImagesSuite extends munit.FunSuite:
  private def file(): Path = Files.createTempDirectory("images").resolve("here/images.json")

  /** A daemon that keeps what is in use. */
  private final class Daemon(var used: Set[String] = Set.empty):
    var gone = Vector.empty[String]
    def remove(reference: String): Boolean =
      val free = !used(reference)
      if free then gone :+= reference
      free

  test("what was wanted longest ago goes when there is no room"):
    val daemon = Daemon()
    val images = PulledImages(file(), most = 10, daemon.remove)
    for name <- List("a", "b", "c") do images.add(name, 3)
    assertEquals(daemon.gone, Vector.empty)
    images.want("a")
    images.add("d", 4)
    assertEquals(daemon.gone, Vector("b"))
    images.add("e", 9)
    assertEquals(daemon.gone, Vector("b", "c", "a", "d"))

  test("one in use stays, and goes when it is not"):
    val daemon = Daemon(used = Set("a"))
    val images = PulledImages(file(), most = 10, daemon.remove)
    images.add("a", 6)
    images.add("b", 6)
    assertEquals(daemon.gone, Vector.empty)
    daemon.used = Set.empty
    images.add("c", 5)
    assertEquals(daemon.gone, Vector("a", "b"))

  test("one that is larger than all the room is there until the next"):
    val daemon = Daemon()
    val images = PulledImages(file(), most = 10, daemon.remove)
    images.add("a", 20)
    images.add("b", 1)
    assertEquals(daemon.gone, Vector("a"))

  test("what was there before is nobody's to remove, though it be wanted"):
    val daemon = Daemon()
    val images = PulledImages(file(), most = 1, daemon.remove)
    images.want("operator's")
    images.add("a", 5)
    images.drop("operator's")
    assertEquals(daemon.gone, Vector.empty)

  test("one that is refused goes at once"):
    val daemon = Daemon()
    val images = PulledImages(file(), most = 10, daemon.remove)
    images.add("a", 5)
    images.drop("a")
    images.add("b", 10)
    assertEquals(daemon.gone, Vector("a"))

  test("the next life knows them"):
    val place = file()
    PulledImages(place, most = 10, _ => false).add("a", 6)
    val daemon = Daemon()
    PulledImages(place, most = 10, daemon.remove).add("b", 6)
    assertEquals(daemon.gone, Vector("a"))

  test("a file that is damaged is as good as none, and is written anew"):
    val place = file()
    Files.createDirectories(place.getParent)
    Files.writeString(place, "[{")
    PulledImages(place, most = 10, _ => true).add("a", 6)
    val daemon = Daemon()
    PulledImages(place, most = 10, daemon.remove).add("b", 6)
    assertEquals(daemon.gone, Vector("a"))
