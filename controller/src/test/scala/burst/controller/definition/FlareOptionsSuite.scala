package burst.controller.definition

import burst.controller.placement.Packing
import munit.FunSuite
import scala.concurrent.duration.DurationInt

class FlareOptionsSuite extends FunSuite:
  private val all =
    FlareOptions(Some(4), Some(Packing.Mixed), Some("direct"), Some(4096), Some(5.seconds), Some(64), Some(1))
  private val others =
    FlareOptions(Some(2), Some(Packing.Heterogeneous), Some("s3"), Some(1), Some(1.hour), Some(16), Some(0))

  test("an option that is not set takes the default's value, and one that is set keeps its own"):
    assert(all.productIterator.forall(_ != None), "an option is missing here")
    assertEquals(FlareOptions().orElse(all), all)
    assertEquals(all.orElse(others), all)
