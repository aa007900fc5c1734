package burst.controller.deploy

import burst.controller.definition.Definition
import burst.controller.blob.{BlobStoreException, DirectoryPackageStore, PackageCopy, PackageStore}
import burst.controller.store.*
import burst.protocol.{PackageId, Timestamp}
import java.nio.file.{Files, Path}
import java.util.Comparator
import java.util.concurrent.atomic.AtomicReference
import scala.concurrent.duration.DurationInt
import scala.util.Try

/** What may happen while a package is being uploaded to the store. */
class SlowUploadSuite extends munit.FunSuite:
  override def munitTimeout = 2.minutes

  private val bytes = Array[Byte](11)
  private val wanted = Samples.definition(pkg = PackageId.of(bytes))

  /** Two controllers' packages on one database; `meanwhile` runs once one of them has stored the bytes. */
  private final class Setup(root: Path, val server: PostgresServer) extends AutoCloseable:
    val database = PostgresDatabase.open(server.settings(server.createDatabase()))
    val index = JdbcPackageIndex(database)
    val definitions = JdbcDefinitionStore(database, index, Samples.versions)
    private val directory = DirectoryPackageStore.open(root)
    val others = Packages(index, directory)
    val meanwhile = AtomicReference[() => Unit](() => ())

    private object slow extends PackageStore:
      export directory.{close as _, delete as _, put as _, *}
      def delete(copy: PackageCopy): Unit =
        if isAway then throw BlobStoreException("deleting a package", RuntimeException("no answer"))
        directory.delete(copy)
      def put(copy: PackageCopy, bytes: Array[Byte]): Unit =
        directory.put(copy, bytes)
        meanwhile.getAndSet(() => ())()

    /** While this is true, nothing can be deleted. */
    @volatile var isAway = false
    val packages = Packages(index, slow)
    def deploy(): Either[DeployRefusal, Definition] =
      Definitions(definitions, packages).deploy(wanted, bytes, overwrite = true, Samples.limits)
    def isWhole: Boolean = definitions.find("guest", "hello").exists(d => others.size(d.packageId).isDefined)
    def files: Int = directory.copies().size
    def close(): Unit =
      database.close()
      server.close()
      Files.walk(root).sorted(Comparator.reverseOrder).forEach(Files.delete(_))

  private val setup = FunFixture[Setup](
    _ => Setup(Files.createTempDirectory("burst-packages"), PostgresServer.fresh()),
    _.close()
  )

  setup.test("cut connections and a concurrent sweep never separate a definition from its package"): s =>
    s.meanwhile.set: () =>
      s.server.cutConnections()
      while Try(s.others.sweep()).isFailure do ()
    // The deploy may fail with its connections; then there is no definition.
    val deployed = Try(s.deploy()).isSuccess
    assertEquals(s.isWhole, deployed)
    assertEquals(s.definitions.find("guest", "hello").isDefined, deployed)

  setup.test("a concurrent deploy and removal of the same package do no harm"): s =>
    val other = wanted.copy(name = "other")
    s.meanwhile.set: () =>
      val definitions = Definitions(s.definitions, s.others)
      definitions.deploy(other, bytes, overwrite = true, Samples.limits)
      definitions.remove("guest", "other")
    assert(s.deploy().isRight)
    assert(s.isWhole)
    s.others.sweep()
    assertEquals(s.files, 1)

  setup.test("a removal succeeds even if deleting the package fails, and the next sweep deletes the file"):
    s =>
      assert(s.deploy().isRight)
      s.isAway = true
      val mine = Definitions(s.definitions, s.packages)
      assertEquals(mine.remove("guest", "hello").map(_.name), Some("hello"))
      assertEquals((s.definitions.find("guest", "hello"), s.files), (None, 1))
      s.isAway = false
      s.packages.sweep()
      assertEquals(s.files, 0)

  setup.test("an upload that outlives its announcement fails, and a second deploy succeeds"): s =>
    s.meanwhile.set: () =>
      s.index.forgetAnnounced(Timestamp.ofMicros(Long.MaxValue))
      s.others.sweep()
    intercept[PackageGone](s.deploy())
    assertEquals(s.files, 0)
    assert(s.deploy().isRight)
    assert(s.isWhole)
