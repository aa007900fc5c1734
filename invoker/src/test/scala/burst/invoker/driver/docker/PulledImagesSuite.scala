package burst.invoker.driver
package docker

import java.nio.file.{Files, Path}
import java.util.concurrent.CountDownLatch
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, Future, Promise}

class PulledImagesSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private def file(): Path = Files.createTempDirectory("images").resolve("here/images.json")

  private def await[A](done: Future[A]): A = Await.result(done, 60.seconds)

  /** A daemon that refuses to remove images in use. */
  private final class Daemon(@volatile var used: Set[String] = Set.empty) extends ImageStore:
    @volatile var stored = Map.empty[String, StoredImage]
    @volatile var slow = Set.empty[String]
    @volatile var removed = Vector.empty[String]

    def find(reference: String): Option[StoredImage] = stored.get(reference)

    def remove(reference: String): Removal =
      if used(reference) then Removal.InUse
      else
        removed :+= reference
        if slow(reference) then Removal.InProgress
        else
          stored -= reference
          Removal.Removed

    def pull(images: PulledImages, reference: String, bytes: Long): Unit =
      images.expect(reference)
      val image = StoredImage(s"id of $reference", bytes)
      stored += reference -> image
      await(images.add(reference, image))

  test("the image whose last use is longest ago is removed when there is no room"):
    val daemon = Daemon()
    val images = PulledImages(file(), most = 10, daemon)
    for name <- List("a", "b", "c") do daemon.pull(images, name, 3)
    assertEquals(daemon.removed, Vector.empty)
    images.recordUse("a")
    daemon.pull(images, "d", 4)
    assertEquals(daemon.removed, Vector("b"))
    daemon.pull(images, "e", 9)
    assertEquals(daemon.removed, Vector("b", "c", "a", "d"))

  test("an image in use stays, and is removed once it is not"):
    val daemon = Daemon(used = Set("a"))
    val images = PulledImages(file(), most = 10, daemon)
    daemon.pull(images, "a", 6)
    daemon.pull(images, "b", 6)
    assertEquals(daemon.removed, Vector.empty)
    daemon.used = Set.empty
    daemon.pull(images, "c", 5)
    assertEquals(daemon.removed, Vector("a", "b"))

  test("an image larger than the whole limit stays until the next one"):
    val daemon = Daemon()
    val images = PulledImages(file(), most = 10, daemon)
    daemon.pull(images, "a", 20)
    daemon.pull(images, "b", 1)
    assertEquals(daemon.removed, Vector("a"))

  test("an image that existed before is not removed, even if it is used"):
    val daemon = Daemon()
    daemon.stored += "operator's" -> StoredImage("id", 9)
    val images = PulledImages(file(), most = 1, daemon)
    images.recordUse("operator's")
    daemon.pull(images, "a", 5)
    assertEquals(await(images.free(100)), true)
    assertEquals(daemon.removed, Vector("a"))

  test("an image that somebody else has replaced is not removed, and no longer counts"):
    val daemon = Daemon()
    val images = PulledImages(file(), most = 10, daemon)
    daemon.pull(images, "a", 6)
    daemon.stored += "a" -> StoredImage("built anew", 6)
    daemon.pull(images, "b", 6)
    daemon.pull(images, "c", 4)
    assertEquals(daemon.removed, Vector.empty)

  test("a refused image is removed immediately, and no other for it"):
    val daemon = Daemon()
    val images = PulledImages(file(), most = 10, daemon)
    daemon.pull(images, "a", 8)
    images.expect("huge")
    daemon.stored += "huge" -> StoredImage("id", 50)
    await(images.drop("huge", StoredImage("id", 50)))
    daemon.pull(images, "b", 2)
    assertEquals(daemon.removed, Vector("huge"))

  test("a refused image that stays is the first to be removed"):
    val daemon = Daemon(used = Set("huge"))
    val images = PulledImages(file(), most = 10, daemon)
    daemon.pull(images, "a", 8)
    daemon.stored += "huge" -> StoredImage("id", 50)
    await(images.drop("huge", StoredImage("id", 50)))
    daemon.used = Set.empty
    daemon.pull(images, "b", 1)
    assertEquals(daemon.removed, Vector("huge"))

  test("using or pulling an image does not wait for the removal of another"):
    val (begun, end) = (Promise[Unit](), CountDownLatch(1))
    val daemon = new ImageStore:
      def find(reference: String) = Some(StoredImage("id", 6))
      def remove(reference: String) =
        begun.trySuccess(())
        end.await()
        Removal.Removed
    val images = PulledImages(file(), most = 10, daemon)
    await(images.add("a", StoredImage("id", 6)))
    val room = images.add("b", StoredImage("id", 6))
    await(begun.future)
    images.recordUse("a")
    images.expect("c")
    images.settle("c")
    assert(!room.isCompleted)
    end.countDown()
    await(room)

  test("an image that is slow to be removed counts as removed, which is checked later"):
    val daemon = Daemon()
    val images = PulledImages(file(), most = 10, daemon)
    daemon.slow = Set("a")
    for name <- List("a", "b", "c") do daemon.pull(images, name, 5)
    assertEquals(daemon.removed, Vector("a"))
    daemon.stored -= "a"
    daemon.pull(images, "d", 1)
    daemon.pull(images, "e", 1)
    assertEquals(daemon.removed, Vector("a", "b"))

  test("a full disk frees the bytes it needs, except for images that are being pulled"):
    val daemon = Daemon()
    val images = PulledImages(file(), most = 100, daemon)
    for name <- List("a", "b", "c") do daemon.pull(images, name, 3)
    images.expect("d")
    assertEquals(await(images.free(4)), true)
    assertEquals(daemon.removed, Vector("a", "b"))
    daemon.used = Set("c")
    assertEquals(await(images.free(4)), false)

  test("the next run knows the pulled images"):
    val path = file()
    val daemon = Daemon()
    daemon.pull(PulledImages(path, most = 10, daemon), "a", 6)
    daemon.pull(PulledImages(path, most = 10, daemon), "b", 6)
    assertEquals(daemon.removed, Vector("a"))

  test("the next run finds an image that was being pulled, if it arrived"):
    val path = file()
    val daemon = Daemon()
    val images = PulledImages(path, most = 10, daemon)
    for name <- List("came", "came not") do images.expect(name)
    daemon.stored += "came" -> StoredImage("id", 6)
    val next = PulledImages(path, most = 10, daemon)
    daemon.stored += "came not" -> StoredImage("developer's", 6)
    daemon.pull(next, "b", 6)
    assertEquals(daemon.removed, Vector("came"))

  test("an image that could not be pulled is forgotten, unless it exists"):
    val daemon = Daemon()
    val images = PulledImages(file(), most = 10, daemon)
    for name <- List("there", "not") do images.expect(name)
    daemon.stored += "there" -> StoredImage("id", 6)
    for name <- List("there", "not") do images.settle(name)
    daemon.stored += "not" -> StoredImage("developer's", 6)
    daemon.pull(images, "b", 10)
    assertEquals(daemon.removed, Vector("there"))

  test("a file of a release without image ids is still read"):
    val path = file()
    Files.createDirectories(path.getParent)
    Files.writeString(path, """[{"reference":"a","bytes":6}]""")
    val daemon = Daemon()
    daemon.stored += "a" -> StoredImage("id", 6)
    daemon.pull(PulledImages(path, most = 10, daemon), "b", 6)
    assertEquals(daemon.removed, Vector("a"))

  test("a damaged file counts as missing, and is written again"):
    val path = file()
    Files.createDirectories(path.getParent)
    Files.writeString(path, "[{")
    val daemon = Daemon()
    daemon.pull(PulledImages(path, most = 10, daemon), "a", 6)
    daemon.pull(PulledImages(path, most = 10, daemon), "b", 6)
    assertEquals(daemon.removed, Vector("a"))
