package burst.controller.store

import java.nio.file.{Files, Path}
import java.util.Comparator
import scala.concurrent.duration.DurationInt

/** Storages in a directory that is deleted with the test. */
trait StorageFixtures extends munit.FunSuite:
  override def munitTimeout = 3.minutes

  /** Returns a function that opens storages of the same data, empty at first. */
  def opener(root: Path): () => Storage

  /** Whether several controllers share this database, or a single process owns it. */
  def isShared: Boolean

  def settings(root: Path, postgres: Option[PostgresSettings] = None): StoreSettings =
    StoreSettings(
      root,
      root.resolve("spool"),
      2,
      60.seconds,
      false,
      postgres,
      None,
      Samples.logLimit,
      3,
      Retention(10, 1.day, 1.hour, 10),
      Samples.versions,
      1.day,
      root.resolve("secrets.key")
    )

  lazy val directory: FunFixture[Path] = FunFixture(_ => Files.createTempDirectory("burst-store"), delete)

  lazy val storage: FunFixture[Storage] = FunFixture(_ => opened(1).head, _.close())

  /** Two controllers' storages of the same data. */
  lazy val sharing: FunFixture[(Storage, Storage)] = FunFixture(
    _ =>
      val both = opened(2)
      (both(0), both(1))
    ,
    (one, other) =>
      other.close()
      one.close()
  )

  /** Opens storages of the same data; closing the first one deletes the directory. */
  private def opened(count: Int): Vector[Storage] =
    val root = Files.createTempDirectory("burst-store")
    val open = opener(root)
    val storages = Vector.fill(count)(open())
    Samples.keepPackages(storages.head)
    val first = storages.head.copy(close = () =>
      storages.head.close()
      delete(root))
    first +: storages.tail

  private def delete(root: Path): Unit =
    Files.walk(root).sorted(Comparator.reverseOrder).forEach(path => Files.delete(path))

trait EmbeddedStorage extends StorageFixtures:
  def isShared: Boolean = false
  def opener(root: Path): () => Storage = () => open(root)

  def open(root: Path): Storage =
    val storage = Storage.open(settings(root), Samples.limits)
    Samples.keepPackages(storage)
    storage
