package burst.controller.blob

import burst.controller.store.FileSizeLimit
import burst.protocol.PackageId
import java.nio.file.{Files, Path}
import java.util.Comparator

/** What every implementation of [[PackageStore]] must do. */
abstract class PackageStoreContract extends munit.FunSuite:
  def store: FunFixture[PackageStore]

  protected val bytes: Array[Byte] = Array.tabulate[Byte](1000)(_.toByte)

  protected val copy: PackageCopy = PackageCopy.fresh(PackageId.of(bytes))

  store.test("a missing package has no size and no bytes, and deleting it has no effect"): s =>
    assertEquals(s.size(copy), None)
    assertEquals(s.read(copy, 0, 10), None)
    s.delete(copy)

  store.test("a package is read in parts, and reads beyond its end are empty"): s =>
    s.put(copy, bytes)
    assertEquals(s.size(copy), Some(1000L))
    assertEquals(s.read(copy, 0, 400).get.toSeq ++ s.read(copy, 400, 4000).get.toSeq, bytes.toSeq)
    assertEquals(s.read(copy, 1000, 10).map(_.length), Some(0))
    assertEquals(s.read(copy, Long.MaxValue, 10).map(_.length), Some(0))
    assertEquals(s.read(copy, -1, -1).map(_.length), Some(0))

  store.test("copies of the same content are separate, also from those of an earlier version"): s =>
    val others = Vector(PackageCopy.fresh(copy.id), PackageCopy(copy.id, ""))
    (copy +: others).foreach(s.put(_, bytes))
    assertEquals(s.copies().toSet, (copy +: others).toSet)
    s.delete(copy)
    assertEquals(s.copies().toSet, others.toSet)
    assertEquals(s.read(others(1), 0, 5).map(_.toSeq), Some(bytes.take(5).toSeq))

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

  directory.test("opening a store removes what a crash left half-written"): root =>
    val first = DirectoryPackageStore.open(root)
    first.put(copy, bytes)
    Files.write(root.resolve("incoming-x"), Array[Byte](1))
    val second = DirectoryPackageStore.open(root)
    assert(!Files.exists(root.resolve("incoming-x")))
    assertEquals(second.copies(), Vector(copy))

  directory.test("on a full disk nothing counts as stored, and nothing is left behind"): root =>
    val store = DirectoryPackageStore.open(root)
    FileSizeLimit.during(500)(intercept[BlobStoreException](store.put(copy, bytes)))
    assertEquals(store.copies(), Vector.empty)
    assertEquals(Files.list(root).count, 0L)
    store.put(copy, bytes)
    assertEquals(store.size(copy), Some(1000L))
