package burst.controller.blob

import burst.protocol.PackageId
import java.nio.file.{Files, Path}
import java.util.Comparator

/** What every implementation of [[PackageStore]] must do. */
abstract class PackageStoreContract extends munit.FunSuite:
  def store: FunFixture[PackageStore]

  private val bytes = Array.tabulate[Byte](1000)(_.toByte)

  store.test("what is not there has no size and no bytes, and deleting it is nothing"): s =>
    val id = PackageId.of(bytes)
    assertEquals(s.size(id), None)
    assertEquals(s.read(id, 0, 10), None)
    s.delete(id)

  store.test("a package is read in parts, and beyond its end there is nothing"): s =>
    val id = s.put(bytes)
    assertEquals(id, PackageId.of(bytes))
    assertEquals(s.size(id), Some(1000L))
    assertEquals(s.read(id, 0, 400).get.toSeq ++ s.read(id, 400, 4000).get.toSeq, bytes.toSeq)
    assertEquals(s.read(id, 1000, 10).map(_.length), Some(0))
    assertEquals(s.read(id, Long.MaxValue, 10).map(_.length), Some(0))
    assertEquals(s.read(id, -1, -1).map(_.length), Some(0))

  store.test("the same content is stored once, and is gone when it is deleted"): s =>
    val id = s.put(bytes)
    assertEquals(s.put(bytes.clone), id)
    assertEquals(s.ids(), Vector(id))
    s.delete(id)
    assertEquals(s.ids(), Vector.empty)

class DirectoryPackageStoreSuite extends PackageStoreContract:
  private val directory = FunFixture[Path](_ => Files.createTempDirectory("burst-packages"), delete)

  private var roots = Map.empty[PackageStore, Path]

  lazy val store: FunFixture[PackageStore] = FunFixture(
    _ =>
      val root = Files.createTempDirectory("burst-packages")
      val store = DirectoryPackageStore.open(root)
      roots += store -> root
      store
    ,
    store => delete(roots(store))
  )

  private def delete(root: Path): Unit =
    Files.walk(root).sorted(Comparator.reverseOrder).forEach(path => Files.delete(path))

  directory.test("a start removes what a crash left half-written, and a package cut short is stored anew"):
    root =>
      val first = DirectoryPackageStore.open(root)
      val id = first.put(Array.fill[Byte](10)(7))
      Files.write(root.resolve("incoming-x"), Array[Byte](1))
      Files.write(root.resolve(id.value), Array[Byte](7, 7))
      val second = DirectoryPackageStore.open(root)
      assert(!Files.exists(root.resolve("incoming-x")))
      second.put(Array.fill[Byte](10)(7))
      assertEquals(second.size(id), Some(10L))
