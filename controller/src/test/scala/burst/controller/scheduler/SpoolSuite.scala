package burst.controller.scheduler

import burst.controller.flare.OutputPiece
import burst.protocol.FlareId
import java.nio.file.{Files, Path}
import java.util.Comparator
import munit.FunSuite
import org.apache.pekko.util.ByteString

class SpoolSuite extends FunSuite:
  private val directory = FunFixture[Path](
    _ => Files.createTempDirectory("burst-spool"),
    root => Files.walk(root).sorted(Comparator.reverseOrder).forEach(path => Files.delete(path))
  )

  directory.test("opening a spool deletes outputs left from before, and nothing else"): root =>
    val id = FlareId.random()
    Spool.open(root, Samples.blobs).write(id, Vector(OutputPiece(0, 0, ByteString("half"))))
    val theirs =
      Vector(root.resolve("burst.db"), Files.createDirectory(root.resolve("flares")).resolve(id.value))
    theirs.foreach(Files.writeString(_, "theirs"))
    Spool.open(root, Samples.blobs)
    assert(!Files.exists(root.resolve(id.value)))
    assert(theirs.forall(Files.exists(_)))
