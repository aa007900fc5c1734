package burst.controller.blob

import java.lang.management.{BufferPoolMXBean, ManagementFactory}
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.Files
import java.nio.file.StandardOpenOption.WRITE
import scala.jdk.CollectionConverters.*
import scala.util.{Random, Using}

class FileBytesSuite extends munit.FunSuite:
  private val file = FunFixture(_ => Files.createTempFile("burst", "bytes"), Files.delete(_))

  private def outsideTheHeap(): Long =
    ManagementFactory
      .getPlatformMXBeans(classOf[BufferPoolMXBean])
      .asScala
      .filter(_.getName == "direct")
      .map(_.getMemoryUsed)
      .sum

  file.test("written bytes are read back, up to the end of the file"): file =>
    val bytes = Random(1).nextBytes(200_000)
    Using.resource(FileChannel.open(file, WRITE))(FileBytes.write(_, ByteBuffer.wrap(bytes)))
    assertEquals(FileBytes.readAll(file).toVector, bytes.toVector)
    assertEquals(FileBytes.read(file, 70_000, 66_000).toVector, bytes.slice(70_000, 136_000).toVector)
    assertEquals(FileBytes.read(file, 199_999, 10).toVector, bytes.takeRight(1).toVector)
    assertEquals(FileBytes.read(file, 300_000, 10).length, 0)
    assertEquals(FileBytes.read(file, -5, 3).toVector, bytes.take(3).toVector)

  file.test("a large transfer takes no more memory outside the heap than a small one"): file =>
    val before = outsideTheHeap()
    Using.resource(FileChannel.open(file, WRITE))(FileBytes.write(_, ByteBuffer.allocate(64 << 20)))
    assertEquals(FileBytes.readAll(file).length, 64 << 20)
    assert(outsideTheHeap() - before < (16 << 20), s"${outsideTheHeap() - before} bytes")
