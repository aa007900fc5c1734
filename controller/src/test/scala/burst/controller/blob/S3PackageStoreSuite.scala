package burst.controller.blob

import burst.protocol.PackageId
import java.net.URI
import scala.concurrent.duration.DurationInt

class S3PackageStoreSuite extends PackageStoreContract:
  override def munitTimeout = 2.minutes

  /** Settings with a fresh folder each time, in the bucket that other stores use too. */
  private def settings(): S3Settings =
    S3Server.shared.settings.copy(prefix = s"packages/${java.util.UUID.randomUUID}/")

  lazy val store: FunFixture[PackageStore] =
    FunFixture(_ => S3PackageStore(S3Bucket.open(settings())), _.close())

  test("controllers share packages and ignore other folders"):
    val shared = settings()
    val one = S3PackageStore(S3Bucket.open(shared))
    val two = S3PackageStore(S3Bucket.open(shared))
    val elsewhere = S3PackageStore(S3Bucket.open(settings()))
    try
      val bytes = Array.tabulate[Byte](3_000_000)(i => (i * 31).toByte)
      val copy = PackageCopy.fresh(PackageId.of(bytes))
      one.put(copy, bytes)
      assertEquals(two.size(copy), Some(3_000_000L))
      assertEquals(two.read(copy, 2_999_990, 1000).map(_.toSeq), Some(bytes.takeRight(10).toSeq))
      assertEquals(two.copies(), Vector(copy))
      assertEquals(elsewhere.copies(), Vector.empty)
      assertEquals(elsewhere.size(copy), None)
      two.delete(copy)
      assertEquals(one.size(copy), None)
    finally Vector(one, two, elsewhere).foreach(_.close())

  test("a bucket that cannot be opened is reported by its name and without the key"):
    val own = settings().copy(timeout = 5.seconds)
    Vector(
      own.copy(bucket = "nowhere"),
      own.copy(credentials = Some(S3Credentials("key", "wrong-secret"))),
      // Nothing listens there. A port that has just been closed may already be another test's server.
      own.copy(endpoint = Some(URI("http://127.0.0.1:1")))
    ).foreach: settings =>
      val failure = intercept[BlobStoreException](S3PackageStore(S3Bucket.open(settings)))
      assert(failure.getMessage.contains(settings.bucket), failure.getMessage)
      assert(!failure.getMessage.contains("wrong-secret"), failure.getMessage)
      assert(!settings.toString.contains("wrong-secret"))

  test("calls to a dead server fail by their deadline, and nothing counts as stored"):
    val server = S3Server.fresh()
    // Long enough for the calls before the server dies, even on a busy machine.
    val store = S3PackageStore(S3Bucket.open(server.settings.copy(timeout = 20.seconds)))
    try
      val bytes = Array[Byte](1, 2, 3)
      val copy = PackageCopy.fresh(PackageId.of(bytes))
      store.put(copy, bytes)
      server.close()
      val failure = intercept[BlobStoreException](store.put(copy, bytes))
      assertEquals(failure.operation, "storing a package")
      intercept[BlobStoreException](store.read(copy, 0, 1))
      intercept[BlobStoreException](store.copies())
    finally store.close()
