import numpy as np
from numpy.typing import NDArray

from converter.kernels.event_arrays import EventArrays

class SliceDepths:
    def beyond(
        self,
        steps: NDArray[np.int32],
        of_cpus: NDArray[np.int32],
        events: EventArrays,
        order: NDArray[np.int64] | None,
        most: int,
    ) -> int:
        """Go on with events in an order of time, None where they are in it; classes have steps.

        The events have all common columns but `row`, and `end`.

        Those of step 1 begin and those of step 2 end a slice of a track, or of a thread where they are on no track;
        those of step 3 are complete slices until an `end`. Classes that have a number `of_cpus`, below -1, are on the
        track of that number of their CPU.

        Returns:
            How many are inside of `most` others. Viewers drop them, so that they are not around any.

        """
